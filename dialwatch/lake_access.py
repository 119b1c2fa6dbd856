"""Permissions of the files that dialwatch writes into a lake on a local disk."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from lake.tables.storage import is_remote

Access = Literal["owner", "group", "all"]

_UMASKS: dict[Access, int] = {"owner": 0o077, "group": 0o007, "all": 0o022}
_UMASK_AT_START = os.umask(0o077)
os.umask(_UMASK_AT_START)


def restrict(access: Access) -> None:
    """Set the umask, so that only these can read what this process and its children write.

    Deltalake and pyarrow open files themselves and take no mode.
    """
    os.umask(_UMASKS[access])


@contextmanager
def usual_permissions() -> Iterator[None]:
    """Write what is no part of the lake, such as a report, with the permissions that the user's shell gives."""
    before = os.umask(_UMASK_AT_START)
    try:
        yield
    finally:
        os.umask(before)


def owner_to_run_as(root: str) -> str | None:
    """Return the account that a lake belongs to, where root would leave files there that it cannot read; else None."""
    if is_remote(root) or os.geteuid() != 0:
        return None
    try:
        owners = {path.stat().st_uid for path in Path(root.removeprefix("file://")).iterdir() if path.is_dir()}
    except OSError:
        return None
    others = sorted(owners - {0})
    return _name_of(others[0]) if others else None


def _name_of(account: int) -> str:
    try:
        return pwd.getpwuid(account).pw_name
    except KeyError:
        return f"#{account}"
