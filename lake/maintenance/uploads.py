"""Uploads in parts that a killed writer left on a store: no list shows them, and their parts are paid for."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from lake.tables.lake import Lake

logger = logging.getLogger(__name__)


def abort_uploads(lake: Lake, before: datetime) -> int:
    """Abort the uploads in parts under the lake's root that began before a time; give their number.

    A lake in a folder, or in a store that does not speak S3, has none.
    """
    filesystem, root = lake.storage.filesystem(lake.root)
    call = getattr(filesystem, "call_s3", None)
    if call is None:
        return 0
    bucket, _, prefix = root.rstrip("/").partition("/")
    where = {"Bucket": bucket, "Prefix": prefix and f"{prefix}/"}
    old = [upload for upload in _uploads(call, where) if upload["Initiated"] < before]
    for upload in old:
        call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    if old:
        logger.info("aborted %d uploads of %s that nobody finished", len(old), lake.root)
    return len(old)


def _uploads(call: Any, where: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {}
    while True:
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]} if page else {}
        page = call("list_multipart_uploads", **where, **after)
        found += page.get("Uploads", [])
        if not page.get("IsTruncated"):
            return found
