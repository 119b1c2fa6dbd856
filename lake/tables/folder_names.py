"""Deployment names as folder names: safe on any file system, and read back unchanged."""

from __future__ import annotations

import hashlib
import re

MAX_LENGTH = 180
_HASH_LENGTH = 32
_HASH_MARK = "~-"
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
_ESCAPE = re.compile(rb"~([0-9A-F]{2})")


def folder_name(deployment: str) -> str:
    """Folder of a deployment: ASCII letters, digits, `-`, `.` and `_` stay, any other byte becomes `~XX`.

    A leading `.` or `_` is escaped too, because readers hide such folders. A result over 180 characters is cut
    and ends in `~-` and a hash of the whole name, which no other name can give.

    Raises ValueError for an empty name and for one that is not valid Unicode.
    """
    if not deployment:
        raise ValueError("a deployment's name is empty; rows without a deployment go to the unassigned table")
    try:
        raw = deployment.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"deployment name {deployment!r} is not valid Unicode: {error.reason}") from None
    name = "".join(chr(b) if b in _SAFE and (i or b not in b"._") else f"~{b:02X}" for i, b in enumerate(raw))
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(raw).hexdigest()[:_HASH_LENGTH]
    return name[: MAX_LENGTH - len(_HASH_MARK) - _HASH_LENGTH] + _HASH_MARK + digest


def is_cut(folder: str) -> bool:
    """Whether a folder's name is only a part of its deployment's name, which then stands in the table itself."""
    return _HASH_MARK in folder


def deployment_name(folder: str) -> str:
    """Name of the deployment whose folder this is: the inverse of `folder_name` for names that were not cut.

    Raises ValueError for a folder that `folder_name` cannot have given, such as one that another program made.
    """
    if is_cut(folder):
        raise ValueError(f"folder {folder!r} holds a cut name: read it from the table")
    try:
        name = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), folder.encode()).decode()
        if folder_name(name) == folder:
            return name
    except ValueError:
        pass
    raise ValueError(f"folder {folder!r} was not made from a deployment's name")
