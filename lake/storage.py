"""Where the lake stands: a local folder or an S3-like store, opened the same way by deltalake and by s3fs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec


@dataclass(frozen=True)
class Storage:
    """How to reach an S3-like store; what is None comes from the usual AWS_* environment variables.

    `endpoint_url` names a store other than AWS, such as `http://minio:9000`.
    """

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)

    def delta_options(self) -> dict[str, str]:
        """Give the `storage_options` of deltalake.

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
        }
        return {key: value for key, value in options.items() if value is not None}

    def filesystem(self, uri: str) -> tuple[Any, str]:
        """Give fsspec's file system for a path or URI, and the path on it."""
        if not is_remote(uri):
            return fsspec.filesystem("file"), str(Path(uri.removeprefix("file://")).absolute())
        options: dict[str, Any] = {"key": self.access_key_id, "secret": self.secret_access_key}
        client = {"endpoint_url": self.endpoint_url, "region_name": self.region}
        # Listings are not cached: others write to the same store.
        filesystem, path = fsspec.core.url_to_fs(
            uri,
            use_listings_cache=False,
            client_kwargs={key: value for key, value in client.items() if value is not None},
            **{key: value for key, value in options.items() if value is not None},
        )
        return filesystem, path


def is_remote(uri: str) -> bool:
    """Whether a URI names an object store rather than a local path."""
    return "://" in uri and not uri.startswith("file://")


def _region_of_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
