"""What several test folders share: how hypothesis runs, and a real S3-speaking server."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator

import boto3
import pytest
from hypothesis import HealthCheck, settings

from evaluator.models import Models
from lake import Storage
from tests.servers import Bucket, free_port, wait_for_url

# A busy machine is no reason to fail.
settings.register_profile("dialwatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dialwatch")


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """moto in a process of its own: deltalake holds Python's lock while it reads, a thread here could not answer."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_url(f"http://127.0.0.1:{port}/moto-api/", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def bucket(s3_endpoint: str) -> Bucket:
    name = f"lake-{uuid.uuid4().hex}"
    storage = Storage(s3_endpoint, "us-east-1", "key", "secret")
    boto3.client(
        "s3",
        endpoint_url=s3_endpoint,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    ).create_bucket(Bucket=name)
    return Bucket(f"s3://{name}", storage)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Small models of the true architectures, made here."""
    # Whoever needs no model does not wait for torch.
    from tests.evaluator.models.small_models import save_all

    return save_all(tmp_path_factory.mktemp("models"))
