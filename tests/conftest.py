"""Shared by several test folders: hypothesis profiles, the marks of tests that use servers, a server that speaks S3."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import boto3
import pytest
from fastapi._compat import ModelField
from hypothesis import HealthCheck, settings
from pydantic import TypeAdapter

from evaluator.models import Models
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.process_guard import ProcessGuard
from tests.servers import Bucket, free_port, wait_for_url

SERVERS = {"s3_endpoint": "s3", "kafka": "kafka", "broker": "kafka"}
"""Fixtures that start a server for the whole run, and the group of tests that share one worker, and so one server."""

HAS_MODELS = importlib.util.find_spec("torch") is not None
# Without torch none of these can be imported.
collect_ignore = [] if HAS_MODELS else ["evaluator/models", "evaluator/metrics/form/test_toxicity.py"]

MONOTONIC = time.monotonic

# A busy machine is no reason to fail.
settings.register_profile("dialwatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("dialwatch"), max_examples=20)
# A person waits for `make test`; CI looks at five times as many examples.
settings.load_profile("dialwatch" if os.environ.get("CI") else "quick")


def pytest_configure(config: pytest.Config) -> None:
    """Watch every test of this process, and spend less on what all of them do."""
    config.pluginmanager.register(ProcessGuard())
    _build_fields_once()
    # The modules and the tests themselves are hundreds of thousands of objects, which stay: look through them seldom.
    gc.set_threshold(50_000, 20, 20)


def _build_fields_once() -> None:
    """Let all applications share what FastAPI builds for a field of a route: hundreds of tests make the same routes."""
    build = ModelField.__post_init__
    built: dict[tuple[object, str], TypeAdapter[object]] = {}

    def build_once(field: ModelField) -> None:
        key = field.field_info.annotation, repr(field)
        if key in built:
            field._type_adapter = built[key]
            return
        build(field)
        built[key] = field._type_adapter

    ModelField.__post_init__ = build_once


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a test that sets the clock of the whole process: a server in another thread could then sleep for hours."""
    result = yield
    assert time.monotonic is MONOTONIC, "this test replaces time.monotonic itself: replace its name in one module"
    return result


def pytest_report_header() -> str | None:
    """Name the tests that cannot run here."""
    return None if HAS_MODELS else f"torch is not installed: {', '.join(collect_ignore)} and others DO NOT RUN"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a server that the whole run shares, before tests are chosen by their marks."""
    for item in items:
        for group in {SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS}:
            item.add_marker("integration")
            item.add_marker(pytest.mark.xdist_group(group))


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


@pytest.fixture(
    params=["folder", pytest.param("bucket", marks=[pytest.mark.integration, pytest.mark.xdist_group("s3")])]
)
def lake_of_each_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """An empty lake in a folder, and one in a bucket of an S3-like store."""
    if request.param == "folder":
        return Lake(str(tmp_path / "lake"))
    bucket: Bucket = request.getfixturevalue("bucket")
    return Lake(f"{bucket.uri}/some/prefix", bucket.storage)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Small models of the true architectures, made here."""
    pytest.importorskip("torch", reason="install dialwatch[models]: THESE TESTS DID NOT RUN")
    # Whoever needs no model does not wait for torch.
    from tests.evaluator.models.small_models import save_all

    return save_all(tmp_path_factory.mktemp("models"))
