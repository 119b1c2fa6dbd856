from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lake.maintenance.maintenance import LakeMaintenanceSettings, abort_uploads, maintain
from lake.tables.lake import Lake
from tests.conftest import Bucket

NOW = datetime.now(UTC)
DIES = """
import os, signal, sys
from lake.tables.storage import Storage
upload = Storage(sys.argv[2], "us-east-1", "key", "secret").upload(sys.argv[1])
file = upload("rag-app/scores/date=2026-11-20/part-1.parquet")
file.write(os.urandom(24 << 20))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_has_no_uploads(tmp_path: Path) -> None:
    assert abort_uploads(Lake(str(tmp_path)), NOW) == 0


def test_old_uploads_of_all_pages_of_a_list_go() -> None:
    """A store lists at most 1,000 at once, and says after which to go on; others of the bucket are not asked for."""
    pages: dict[Any, dict[str, Any]] = {
        None: {"IsTruncated": True, "NextKeyMarker": "b", "NextUploadIdMarker": "2"},
        ("b", "2"): {"IsTruncated": True, "NextKeyMarker": "d", "NextUploadIdMarker": "4", "Uploads": []},
        ("d", "4"): {"IsTruncated": False},
    }
    old, new = NOW - timedelta(days=2), NOW
    uploads = {None: [("a", "1", old), ("b", "2", new)], ("d", "4"): [("e", "5", old)]}
    for after, found in uploads.items():
        pages[after]["Uploads"] = [{"Key": key, "UploadId": upload, "Initiated": at} for key, upload, at in found]
    asked, aborted = [], []

    def call_s3(method: str, **given: str) -> dict[str, object]:
        if method == "abort_multipart_upload":
            aborted.append((given["Bucket"], given["Key"], given["UploadId"]))
            return {}
        asked.append((method, given["Bucket"], given["Prefix"]))
        assert len(asked) <= len(pages)
        return pages[(given["KeyMarker"], given["UploadIdMarker"]) if "KeyMarker" in given else None]

    for root, bucket_and_prefix in (("bucket/some/lake/", ("bucket", "some/lake/")), ("bucket", ("bucket", ""))):
        storage = SimpleNamespace(filesystem=lambda root: (SimpleNamespace(call_s3=call_s3), root))
        lake = SimpleNamespace(root=root, storage=storage)
        asked.clear()
        aborted.clear()
        assert abort_uploads(cast(Lake, lake), NOW - timedelta(days=1)) == 2
        assert asked == [("list_multipart_uploads", *bucket_and_prefix)] * 3
        assert aborted == [("bucket", "a", "1"), ("bucket", "e", "5")]


@pytest.mark.integration
@pytest.mark.xdist_group("s3")
def test_parts_of_a_killed_upload_go(bucket: Bucket) -> None:
    """A writer is killed in the middle of a large file: its parts go when they are old, those of one at work stay."""
    lake = Lake(f"{bucket.uri}/some/lake", bucket.storage)
    command = [sys.executable, "-c", DIES, lake.root, str(bucket.storage.endpoint_url)]
    root = str(Path(__file__).parents[3])
    assert subprocess.run(command, env=os.environ | {"PYTHONPATH": root}).returncode == -signal.SIGKILL
    filesystem, _ = bucket.storage.filesystem(lake.root)

    def uploads() -> list[str]:
        found = filesystem.call_s3("list_multipart_uploads", Bucket=bucket.uri.removeprefix("s3://"))
        return [upload["Key"] for upload in found.get("Uploads", [])]

    assert uploads() == ["some/lake/rag-app/scores/date=2026-11-20/part-1.parquet"]
    elsewhere = Lake(f"{bucket.uri}/some/la", bucket.storage)
    assert abort_uploads(elsewhere, NOW + timedelta(days=2)) == 0
    # moto says of every upload that it began in 2010.
    assert abort_uploads(lake, datetime(2010, 1, 1, tzinfo=UTC)) == 0
    assert len(uploads()) == 1
    assert maintain(lake, LakeMaintenanceSettings(), NOW).failures == ()
    assert uploads() == []
