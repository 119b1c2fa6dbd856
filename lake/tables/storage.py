"""Storage of a lake: a local folder or an S3-like store, opened the same way by deltalake and by s3fs."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
from deltalake import DeltaTable
from pyarrow import fs

from lake.delta_log.log_files import LocalLogFiles, LogFiles, StoreLogFiles
from lake.spec.service_vocabulary import StoreUser
from lake.store.upload import Upload
from lake.store.whole_files import WholeFiles

# A store that does not answer, or refuses, raises an error within about 20 s, whichever library asks it.
_CONNECT_SECONDS = 3
_DELTA_LIMITS = {"timeout": "15s", "connect_timeout": f"{_CONNECT_SECONDS}s", "retry_timeout": "15s"}
_ARROW_SILENT_SECONDS, _ARROW_ATTEMPTS = 6, 3
# s3fs tries five times by itself; botocore's own attempts would multiply them.
_S3FS_LIMITS = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": 4, "retries": {"total_max_attempts": 1}}


STORE_SCHEMES = ("s3://", "s3a://")


class UnsupportedStoreError(ValueError):
    """A URI of a store that dialwatch cannot read and write."""


@dataclass(frozen=True)
class Storage:
    """Access to an S3-like store; what is None comes from the usual AWS_* environment variables.

    `endpoint_url` names a store other than AWS, such as `http://minio:9000`. `durable` is for folders: what is
    committed is on disk (fsync), so that a loss of power takes nothing away. `user` is who makes the requests, for
    their counts.
    """

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    durable: bool = False
    user: StoreUser = StoreUser.OTHER

    def delta_options(self) -> dict[str, str]:
        """Return the `storage_options` of deltalake.

        A commit is a conditional PUT, so the store must know `If-None-Match`.
        """
        endpoint = self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL")
        options = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": self.region or _region_of_environment(),
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_ALLOW_HTTP": "true" if endpoint and endpoint.startswith("http://") else None,
            "aws_conditional_put": "etag",
            **_DELTA_LIMITS,
        }
        return {key: value for key, value in options.items() if value is not None}

    def arrow_filesystem(self, uri: str) -> fs.FileSystem | None:
        """Return Arrow's own file system below a path or an s3:// URI; None for other stores, which deltalake reads.

        Arrow's own works without Python: a read through Python that still goes on in one of Arrow's threads when the
        interpreter ends would abort the process.
        """
        if not is_remote(uri):
            return fs.SubTreeFileSystem(uri.removeprefix("file://"), fs.LocalFileSystem())
        scheme, _, path = uri.partition("://")
        if scheme != "s3":
            return None
        options = self.delta_options()
        endpoint = options.get("AWS_ENDPOINT_URL")
        given = {
            "access_key": self.access_key_id,
            "secret_key": self.secret_access_key,
            "region": options["AWS_REGION"],
            "endpoint_override": endpoint and endpoint.partition("://")[2].rstrip("/"),
            "scheme": endpoint and endpoint.partition("://")[0],
            "connect_timeout": _CONNECT_SECONDS,
            "request_timeout": _ARROW_SILENT_SECONDS,
            # A small file is then one request, and not the three of an upload in parts.
            "allow_delayed_open": True,
            "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_ARROW_ATTEMPTS),
        }
        store = fs.S3FileSystem(**{key: value for key, value in given.items() if value is not None})
        return fs.SubTreeFileSystem(path, store)

    def log_files(self, uri: str) -> LogFiles:
        """Return the commits of the table at a path or URI."""
        if not is_remote(uri):
            return LocalLogFiles(uri, durable=self.durable)
        options = self.delta_options()
        return StoreLogFiles(
            *self.filesystem(uri), lambda version: DeltaTable(uri, version=version, storage_options=options)
        )

    def upload(self, uri: str) -> Callable[[str], Upload] | None:
        """Return what writes a file below a URI of a store, by its path there; None for a local path."""
        if not is_remote(uri):
            return None
        filesystem, folder = self.filesystem(uri)
        return lambda path: Upload(filesystem, f"{folder}/{path}")

    def fetch(self, uri: str) -> WholeFiles | None:
        """Return what fetches whole files below a URI of a store with one request; None for a local path."""
        return WholeFiles(*self.filesystem(uri)) if is_remote(uri) else None

    def filesystem(self, uri: str) -> tuple[Any, str]:
        """Return fsspec's file system for a path or URI, and the path on it; raises UnsupportedStoreError."""
        if not is_remote(uri):
            return fsspec.filesystem("file"), str(Path(uri.removeprefix("file://")).absolute())
        check_scheme(uri)
        client = {"endpoint_url": self.endpoint_url, "region_name": self.region}
        options: dict[str, Any] = {
            "key": self.access_key_id,
            "secret": self.secret_access_key,
            "client_kwargs": {key: value for key, value in client.items() if value is not None},
            # Listings are not cached: others write to the same store.
            "use_listings_cache": False,
        }
        given = {key: value for key, value in options.items() if value is not None}
        # Its import takes long, and a folder needs none of it.
        from lake.store.counted_s3 import CountedS3

        # A copy: s3fs writes into what it is given, and fsspec distinguishes its instances by that.
        store = CountedS3(user=self.user.value, config_kwargs=deepcopy(_S3FS_LIMITS), **given)
        return store, str(CountedS3._strip_protocol(uri))


def check_scheme(uri: str) -> None:
    """Raise UnsupportedStoreError for a URI of a store that is none of S3's kind."""
    if is_remote(uri) and not uri.startswith(STORE_SCHEMES):
        scheme = uri.partition("://")[0]
        raise UnsupportedStoreError(
            f"{uri!r}: stores by {scheme}:// are not supported; give a folder, or s3://bucket/prefix of a store that "
            "speaks S3"
        )


def is_remote(uri: str) -> bool:
    """Whether a URI names an object store rather than a local path."""
    return "://" in uri and not uri.startswith("file://")


def _region_of_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
