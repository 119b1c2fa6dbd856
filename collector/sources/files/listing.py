"""Listing of log files: globs, folders and paths, on a local disk or an object store."""

from __future__ import annotations

import glob
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from fsspec.utils import glob_translate

from lake.tables.storage import Storage, is_remote

_GLOB_MARKS = "*?["
_FIRST_GLOB_MARK = re.compile(r"[*?\[]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LATE = timedelta(days=2)
_FULL_LISTING = timedelta(hours=1)
_MOST_GROUPS = 100
_MOST_WARNINGS = 100
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file as the store lists it; `modified_at` is None where it cannot change any more (an object).

    `real` is where a local file was found, without symbolic links. `named_by` are the paths, folders or globs of the
    settings that name it.
    """

    uri: str
    path: str
    size: int
    modified_at: datetime | None
    real: str | None = None
    named_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The URI as text that can be stored: names of files need not be Unicode."""
        return os.fsencode(self.uri).decode("utf-8", "replace")


@dataclass
class Listing:
    """The files that one path, folder or glob names; files whose names begin with a dot are none.

    On a local disk a symbolic link is followed where it leads to a place in the watched folder: the one that is given,
    or that in which the first part with a glob stands, itself a link or not. A file that is named without a glob may be
    a link to anywhere. None may lead into `exclude`, a local folder. Each link that is not followed is logged once.
    """

    pattern: str
    storage: Storage
    clock: Callable[[], datetime]
    exclude: str | None = None
    _objects: _Objects | None = None
    _warned: set[str] = field(default_factory=set)

    def find(self) -> Iterator[LogFile]:
        """List them as they are now, in no order. An S3 bucket is asked for its news only: see `_Objects`."""
        if not is_remote(self.pattern):
            yield from self._find_local(str(Path(self.pattern.removeprefix("file://")).absolute()))
            return
        (filesystem, path), named_by = self.storage.filesystem(self.pattern), (self.pattern,)
        scheme = self.pattern.partition("://")[0]
        if scheme in ("s3", "s3a"):
            self._objects = self._objects or _Objects(filesystem, path, self.clock)
            found = self._objects.find()
        else:
            listed = filesystem.glob(path, detail=True) if _is_glob(path) else filesystem.find(path, detail=True)
            found = ((name, info["size"]) for name, info in listed.items() if info["type"] == "file")
        for name, size in found:
            if not _is_hidden(name):
                yield LogFile(f"{scheme}://{name}", name, size, None, named_by=named_by)

    def _find_local(self, path: str) -> Iterator[LogFile]:
        fixed, wanted = _split(path)
        watched = fixed if wanted or Path(fixed).is_dir() else None
        within = None if watched is None else _real(watched)
        excluded = None if self.exclude is None or is_remote(self.exclude) else _real(self.exclude)
        folders: dict[str, str] = {}
        named_by = (self.pattern,)
        for name in _local_names(fixed, wanted):
            if _is_hidden(name):
                continue
            folder, _, base = name.rpartition("/")
            if folder not in folders:
                folders[folder] = _real(folder)
            real, link = f"{folders[folder].rstrip('/')}/{base}", folder
            try:
                status = os.lstat(name)
                if stat.S_ISLNK(status.st_mode):
                    real, link = _real(name), name
                    status = os.stat(real)  # noqa: PTH116
            except OSError:
                continue  # It went away, or its folder may not be searched; both are as if it were not there.
            if within is not None and not _is_below(real, within):
                self._warn(link, f"outside {within}: where that is meant, name the place it leads to in `paths`")
            elif excluded is not None and _is_below(real, excluded):
                if real != name:
                    self._warn(link, f"into the lake, {self.exclude}")
            elif stat.S_ISREG(status.st_mode):
                modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
                yield LogFile(name, name, status.st_size, modified_at, real, named_by)

    def _warn(self, link: str, where: str) -> None:
        if link not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(link)
            logger.warning("%s is not followed, as it leads %s", link, where)
            if len(self._warned) == _MOST_WARNINGS:
                logger.warning("further links of %s that are not followed are not named", self.pattern)


@dataclass
class _Objects:
    """The objects that match, from a listing that begins two days before the newest date in their names.

    Vector's names hold the date at which it took the line (`date=2023-11-06...`), and a bucket lists them in that
    order. What is put under an older date, or where none was before, is found by the full listing of every hour; names
    without a date are listed in full every time.
    """

    filesystem: Any
    path: str
    clock: Callable[[], datetime]
    _newest: dict[str, date] = field(default_factory=dict)
    _all_dated: bool = False
    _listed_at: datetime | None = None

    def find(self) -> Iterator[tuple[str, int]]:
        now = self.clock()
        # A clock that was set back asks for a full one too.
        recent = self._listed_at is not None and timedelta(0) <= now - self._listed_at < _FULL_LISTING
        if recent and self._all_dated and len(self._newest) <= _MOST_GROUPS:
            for group, newest in list(self._newest.items()):
                yield from self._matching(group, group + (newest - _LATE).isoformat())
            return
        self._all_dated = True
        key = self.path.partition("/")[2]
        mark = _FIRST_GLOB_MARK.search(key)
        yield from self._matching(key[: mark.start()] if mark else key, "")
        self._listed_at = now

    def _matching(self, prefix: str, start_after: str) -> Iterator[tuple[str, int]]:
        bucket = self.path.partition("/")[0]
        wanted = re.compile(glob_translate(self.path)) if _is_glob(self.path) else None
        folder = self.path.rstrip("/") + "/"
        for item in self._pages(Bucket=bucket, Prefix=prefix, StartAfter=start_after):
            name = f"{bucket}/{item['Key']}"
            matches = wanted.match(name) if wanted else name == self.path or name.startswith(folder)
            if matches and not name.endswith("/"):
                self._note(item["Key"])
                yield name, item["Size"]

    def _pages(self, **request: str) -> Iterator[dict[str, Any]]:
        while True:
            page = self.filesystem.call_s3("list_objects_v2", **request)
            yield from page.get("Contents", [])
            if not page.get("IsTruncated"):
                return
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _note(self, key: str) -> None:
        found = _DATE.search(key)
        try:
            day = date.fromisoformat(found[0]) if found else None
        except ValueError:
            day = None
        if found is None or day is None:
            self._all_dated = False
            return
        group = key[: found.start()]
        self._newest[group] = max(day, self._newest.get(group, day))


def _split(path: str) -> tuple[str, str]:
    """The first part of an absolute path, without globs, and the rest, which begins with one, or is empty.

    A name may hold marks of a glob, as `app[1].log`: what is there under that name is meant.
    """
    fixed, (_, *names) = "", path.split("/")
    for number, name in enumerate(names):
        if _is_glob(name) and not os.path.lexists(f"{fixed}/{name}"):
            return fixed or "/", "/".join(names[number:])
        fixed = f"{fixed}/{name}"
    return fixed, ""


def _local_names(path: str, wanted: str) -> Iterator[str]:
    """Names that may be files, and symbolic links to folders that stand in a folder: where these lead was walked, or
    is not to be."""
    # Plain strings: a Path for each of 100,000 files would cost more than all else.
    if wanted:
        pattern = f"{glob.escape(path).rstrip('/')}/{wanted}"
        yield from glob.iglob(pattern, recursive=True, include_hidden=True)  # noqa: PTH207
    elif Path(path).is_dir():
        for folder, folders, files in os.walk(path):
            yield from (f"{folder}/{name}" for name in files)
            yield from (link for name in folders if os.path.islink(link := f"{folder}/{name}"))  # noqa: PTH114
    else:
        yield path


def _real(path: str) -> str:
    return os.path.realpath(path)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _is_glob(path: str) -> bool:
    return any(mark in path for mark in _GLOB_MARKS)


def _is_hidden(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith(".")
