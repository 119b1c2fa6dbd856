"""The lake: one folder a deployment, one table a kind, nothing else."""

from __future__ import annotations

import hashlib
import logging
import re
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.delta_log.news import News
from lake.spec.root_tables import CHANGES, LAKE_DEFAULTS
from lake.spec.schemas import TABLES, UNASSIGNED
from lake.spec.service_vocabulary import StoreUser
from lake.spec.table_spec import TableSpec
from lake.tables.changes import ChangeNotes
from lake.tables.storage import Storage, check_scheme, is_remote
from lake.tables.table import Table

logger = logging.getLogger(__name__)

PROBE_FOLDER = "_check"
"""Folder of the files that a look at whether the lake can be written makes and removes."""
_UNUSABLE = frozenset("%[]#?")


def check_root(root: str) -> None:
    """Raise ValueError for a root with an escape or a pattern for deltalake, or on a store that is not supported."""
    found = sorted(_UNUSABLE.intersection(root))
    if found:
        raise ValueError(
            f"the lake's root {root!r} holds {' '.join(found)}: choose one without {' '.join(sorted(_UNUSABLE))}"
        )
    check_scheme(root)


class Lake:
    """The tables under one root, a local path or a URI such as `s3://bucket/prefix`."""

    def __init__(self, root: str, storage: Storage | None = None, installation: str | None = None) -> None:
        """Open the lake under `root`; raises ValueError for a root that deltalake cannot open again.

        `installation` is the name of the dialwatch whose lake it is; without it that of the root.
        """
        check_root(str(root))
        storage = storage or Storage()
        self._filesystem, self._path = storage.filesystem(str(root))
        self.root = str(root).rstrip("/") if is_remote(str(root)) else self._path
        self.storage = storage
        self.installation = installation or _name_of(self.root)
        """Name of the dialwatch whose lake it is, in metrics and alerts."""
        self._options = storage.delta_options() if is_remote(self.root) else {}
        self._notes = ChangeNotes(lambda: self.table(CHANGES))

    def table(self, spec: TableSpec, deployment: str | None = None, news: News | None = None) -> Table:
        """Return a new handle on a table; `deployment` None is for rows that name none.

        With `news` the handle asks the store only where these say that there may be something new: see `OpenTables`.
        """
        note = partial(self._notes.note, spec, deployment) if is_remote(self.root) else _note_nothing
        if not spec.per_deployment:
            return Table(f"{self.root}/{spec.name}", spec, spec.name, self.storage, news, note)
        # The table's title is the deployment's whole name, which a cut folder name cannot give back.
        title = deployment or UNASSIGNED
        return Table(f"{self.folder(deployment)}/{spec.name}", spec, title, self.storage, news, note)

    def folder(self, deployment: str | None) -> str:
        """Return the path or URI of the folder with a deployment's tables; None is for rows that name none."""
        return f"{self.root}/{UNASSIGNED if deployment is None else folder_name(deployment)}"

    def used_by(self, user: StoreUser) -> Lake:
        """Return the same lake, whose requests to a store are counted for `user`."""
        return Lake(self.root, replace(self.storage, user=user), self.installation)

    def noting_together(self) -> AbstractContextManager[None]:
        """Have the changes that are made while the block lasts, of many tables, noted at its end (see `_changes`)."""
        return self._notes.together()

    def deployments(self) -> list[str | None]:
        """Names of all deployments that have a table, as DIAL writes them; None stands for rows that name none."""
        folders = self._folders(self._path)
        names = {name for folder in folders if (name := self._name_of(folder)) is not None}
        return [*sorted(names), *([None] if UNASSIGNED in folders else [])]

    def is_empty(self) -> bool:
        """Whether there is no table but that of defaults, the first to be made: nothing was written, or not mounted."""
        return not set(self._folders(self._path)) - {PROBE_FOLDER, LAKE_DEFAULTS.name}

    def _name_of(self, folder: str) -> str | None:
        """Name of the deployment of a folder; None where it is not, or not yet, one of a deployment."""
        if is_cut(folder):
            return self._title_of(folder)
        try:
            return deployment_name(folder)
        except ValueError:
            return None

    def _title_of(self, folder: str) -> str | None:
        for table in sorted(set(self._folders(f"{self._path}/{folder}")) & TABLES.keys()):
            uri = f"{self.root}/{folder}/{table}"
            try:
                return str(DeltaTable(uri, storage_options=self._options).metadata().name)
            except DeltaError as error:
                logger.warning("cannot read whose table %s is: %s", uri, error)
        return None

    def _folders(self, path: str) -> list[str]:
        try:
            entries = self._filesystem.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return [entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in entries if entry["type"] == "directory"]


def _name_of(root: str) -> str:
    """Return the name of a root: the last folder of a path, the whole place on a store, such as `bucket/prefix`."""
    return root.partition("://")[2] if is_remote(root) else root.rpartition("/")[2] or root


def _note_nothing(version: int) -> None:
    """Ignore a look: on a local disk it costs nothing."""


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
