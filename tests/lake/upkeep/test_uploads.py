from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake import Lake, LakeMaintenanceSettings, maintain
from lake.upkeep.uploads import abort_uploads
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
