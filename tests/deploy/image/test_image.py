"""The image, built and run: over a base of Debian's packages, without privileges, without a network."""

from __future__ import annotations

import json
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialwatch import __version__
from tests.collector.lines import chat_line
from tests.deploy.compose.stack import DEPLOY, by_default, mounts, services
from tests.deploy.image.engine import CONFINED, Engine, debian, pip_configuration, why_not
from tests.servers import wait_for

BASE, IMAGE, UP = "localhost/base", "localhost/dialwatch", "up"
MOST_BYTES = 460_000_000

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.xdist_group("image")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine with the image in it."""
    if reason := why_not():
        pytest.skip(f"containers do not run on this machine ({reason}): THE IMAGE IS NOT BUILT")
    folder = tmp_path_factory.mktemp("image")
    # Podman takes no path of more than 50 characters, and a worker of pytest-xdist has a long one.
    engine = Engine(Path(tempfile.mkdtemp()))
    try:
        debian(folder / "base.tar")
        engine.image_of(BASE, folder / "base.tar")
        (folder / "pip.conf").write_text(pip_configuration())
        engine.build(
            *("bud", "--format", "docker", "--isolation", "chroot", "--build-arg", f"BASE={BASE}"),
            *("--secret", f"id=pip.conf,src={folder / 'pip.conf'}"),
            *("--file", DEPLOY / "Dockerfile", "--tag", IMAGE, DEPLOY.parent),
        )
        yield engine
    finally:
        engine.remove()
        (folder / "base.tar").unlink(missing_ok=True)


@pytest.fixture
def up(engine: Engine, tmp_path: Path) -> Iterator[Engine]:
    """The engine with a container that runs `dialwatch up` as compose.yaml describes it, without a network."""
    (tmp_path / "secrets.sh").write_text((DEPLOY / "compose/secrets.sh").read_text())
    subprocess.run(["sh", tmp_path / "secrets.sh"], check=True, capture_output=True)
    service = services()["dialwatch"]
    assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
    volumes = [f"{tmp_path}/secrets/{name}:/run/secrets/{name}:ro" for name in service["secrets"]]
    volumes += [f"{DEPLOY / source}:{target}:ro" for source, target in mounts(service) if source.startswith(".")]
    variables = [f"{name}={by_default(value)}" for name, value in service["environment"].items()]
    options = [f"--volume={volume}" for volume in volumes] + [f"--env={variable}" for variable in variables]
    engine.podman("run", "--detach", "--name", UP, *CONFINED, *options, IMAGE)
    try:
        wait_for(lambda: "true" in inside(engine, HEALTH))
        yield engine
    finally:
        engine.podman("rm", "--force", UP)


HEALTH = """
    import json, urllib.request
    try:
        print(json.load(urllib.request.urlopen("http://127.0.0.1:9464/healthz", timeout=5))["healthy"] and "true")
    except OSError as error:
        print(error)
"""


def inside(engine: Engine, program: str, *arguments: str) -> str:
    """Run a program of Python in the container and give what it prints."""
    return engine.podman("exec", UP, "python", "-c", textwrap.dedent(program), *arguments).stdout.strip()


def test_lines_over_http_become_rows_and_sigterm_ends_it(up: Engine) -> None:
    """Lines that are sent inside of the container are rows of its lake; SIGTERM ends it before it would be killed."""
    lines = "\n".join(chat_line(number).decode() for number in range(3))
    send = """
        import sys, urllib.request
        headers = {"Authorization": f"Bearer {open('/run/secrets/sender_token').read()}"}
        request = urllib.request.Request("http://127.0.0.1:8080/data", sys.argv[1].encode(), headers)
        print(urllib.request.urlopen(request, timeout=60).status)
    """
    assert inside(up, send, lines) == "200"
    count = """
        from lake import PARSED_LOGS, Lake
        print(Lake("/var/lib/dialwatch/lake").table(PARSED_LOGS, "rag-app").read(["response_id"]).num_rows)
    """
    assert inside(up, count) == "3"

    up.podman("stop", "--time", "30", UP)
    state = json.loads(up.podman("inspect", UP).stdout)[0]["State"]
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)
    logged = up.podman("logs", UP)
    records = [json.loads(line) for line in logged.stderr.splitlines() + logged.stdout.splitlines()]
    assert records
    assert not [record for record in records if record["level"] == "error"]


def test_container_has_no_rights(up: Engine) -> None:
    """It runs as user 10001 without a capability, without a network, and writes nowhere but where it keeps its lake."""
    look = """
        import os, pathlib, socket
        status = pathlib.Path("/proc/1/status").read_text().split("\\n")
        print(os.getuid(), os.getgid(), {line.split()[1].strip("0") for line in status if line.startswith("Cap")})
        print([name for _, name in socket.if_nameindex()])
        folders = ("/", "/etc", "/opt/dialwatch", "/var/lib/dialwatch", "/tmp")
        print([path for path in folders if os.access(path, os.W_OK)])
    """
    assert inside(up, look).splitlines() == [
        "10001 10001 {''}",
        "['lo']",
        "['/var/lib/dialwatch', '/tmp']",
    ]


def test_health_check_of_the_image_says_healthy(up: Engine) -> None:
    """The image's own health check succeeds while `up` runs."""
    (image,) = json.loads(up.podman("image", "inspect", IMAGE).stdout)
    kind, *command = image["Healthcheck"]["Test"]
    assert kind == "CMD"
    up.podman("exec", UP, *command)


def test_demo_runs_in_the_container(engine: Engine) -> None:
    """Nothing that the demo needs was left out: it finds the planted drop, and ends with exit code 0."""
    engine.podman("run", "--rm", *CONFINED, IMAGE, "demo", "--once")


def test_what_no_start_imports_is_there(engine: Engine) -> None:
    """Codecs of Kafka, clients of AWS, Arrow's file system of S3, judges and the readability of a text are there."""
    program = """
        import botocore.session, lz4.frame, openai, snappy, zstandard
        import pandas as pd
        from pyarrow.fs import S3FileSystem
        from evaluator.metrics import compute
        assert zstandard.decompress(zstandard.compress(b"x")) == b"x"
        assert lz4.frame.decompress(lz4.frame.compress(b"x")) == snappy.decompress(snappy.compress(b"x")) == b"x"
        for service in ("s3", "sts", "sso", "sso-oidc"):
            botocore.session.Session().create_client(service, region_name="eu-central-1")
        S3FileSystem(endpoint_override="127.0.0.1:1", access_key="a", secret_key="b")
        openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:1").chat.completions
        answers = pd.DataFrame({"answer": ["You can return goods."]})
        print(compute(answers, ["readability"])["readability"].iloc[0])
    """
    entry = ["--entrypoint", "python", IMAGE, "-c", textwrap.dedent(program)]
    assert float(engine.podman("run", "--rm", *CONFINED, *entry).stdout)


def test_sbom_lists_what_is_in_the_image(engine: Engine) -> None:
    """The SBOM names every package of Python with its version, Debian's libraries and dialwatch itself."""
    program = """
        import importlib.metadata, json
        installed = {d.name: d.version for d in importlib.metadata.distributions()}
        print(json.dumps([installed, json.load(open("/opt/dialwatch/sbom.cdx.json"))]))
    """
    entry = ["--entrypoint", "python", IMAGE, "-c", textwrap.dedent(program)]
    installed, sbom = json.loads(engine.podman("run", "--rm", *CONFINED, *entry).stdout)
    listed = {part["name"]: part["version"] for part in [sbom["metadata"]["component"], *sbom["components"]]}
    assert (sbom["bomFormat"], listed["dialwatch"]) == ("CycloneDX", __version__)
    assert {name: listed.get(name) for name in installed} == installed
    assert {"pip", "hatchling"}.isdisjoint(installed)
    assert {"libc6", "ca-certificates", "python"} <= listed.keys()
    assert any(name.startswith("libssl3") for name in listed)
    assert all(part["purl"].startswith("pkg:") for part in sbom["components"])


def test_image_is_small(engine: Engine) -> None:
    """The image stays half as large as it was before what nothing uses was left out (docs/benchmarks.md)."""
    (image,) = json.loads(engine.podman("image", "inspect", IMAGE).stdout)
    assert image["Size"] < MOST_BYTES
