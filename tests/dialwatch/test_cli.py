from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import httpx
import pyarrow.dataset as ds
import pytest
from typer.main import get_command

from dialwatch import cli
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests import commands
from tests.collector.lines import chat_line, rating_line
from tests.exposition import without_installation
from tests.servers import free_port


def dialwatch(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dialwatch", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


def eventually(look: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert process.poll() is None, "the process has ended"
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dialwatch", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def has_read(pid: int, path: Path) -> bool:
    """Whether a process holds a file open at its end."""
    for held in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if held.readlink() == path:
                position = Path(f"/proc/{pid}/fdinfo/{held.name}").read_text().split()[1]
                return int(position) == path.stat().st_size
    return False


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    path = tmp_path / "aidial.log"
    path.write_bytes(chat_line(1) + b"\n" + rating_line(2, "r-1") + b"\nno json\n")
    return path


@pytest.mark.integration
def test_from_a_log_file_to_scores(logs: Path, tmp_path: Path) -> None:
    """`collect files`, `evaluate --once` and `lake ls` say what they did."""
    root = tmp_path / "lake"
    collected = dialwatch("collect", "files", logs, "--lake", root)
    assert collected.returncode == 0, collected.stderr
    assert collected.stdout == "3 lines: 1 stored, 1 signals, 0 duplicates, 1 rejected, 0 filtered\n"
    again = dialwatch("collect", "files", logs, DIALWATCH_LAKE__ROOT=str(root))
    assert again.stdout.startswith("0 lines")
    evaluated = dialwatch("evaluate", "--once", "--lake", root)
    assert evaluated.returncode == 0, evaluated.stderr
    assert evaluated.stdout.startswith("1 deployments: ")
    assert "1 new cases" in evaluated.stdout
    listed = dialwatch("lake", "ls", "--lake", root)
    assert "rag-app" in listed.stdout
    assert "3 lines collected, 1 of them rejected" in listed.stdout
    assert Lake(str(root)).table(SCORES, "rag-app").read().num_rows > 0


def test_old_answers_are_scored_on_request(logs: Path, tmp_path: Path) -> None:
    """`evaluate --backfill` by a metric that came later: a dry run that writes nothing, then the scores, once."""
    root = str(tmp_path / "lake")
    commands.dialwatch("collect", "files", logs, "--lake", root)
    commands.dialwatch("evaluate", "--once", "--lake", root)
    lake = Lake(root)
    (deployment,) = lake.deployments()
    scores = lake.table(SCORES, deployment)
    version, since = scores.version(), "2000-01-01"
    backfill = (
        "evaluate",
        "--lake",
        root,
        "--backfill",
        "--since",
        since,
        "--metrics",
        "refusal",
        "--metrics",
        "empty_answer",
    )
    estimated = commands.dialwatch(*backfill, "--dry-run")
    assert estimated.returncode == 0, estimated.stderr
    assert "2 scores of 1 answers, which takes about 1 s" in estimated.stdout
    assert scores.version() == version
    for before, says in [(0, "2 scores, 0 were there before"), (2, "0 scores, 2 were there before")]:
        done = commands.dialwatch(*backfill, "--deployment", deployment)
        assert (done.returncode, done.stderr) == (0, "")
        assert says in done.stdout, before
    names = scores.read(["metric", "is_backfill"]).filter(ds.field("is_backfill"))["metric"].to_pylist()
    assert sorted(names) == ["empty_answer", "refusal"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("collect", "files", "nowhere/*.log", "--lake", "LAKE"), "no file matches nowhere/*.log"),
        (("evaluate", "--once"), "lake.root: is missing"),
        (("lake", "ls", "--lake", "LAKE/typo"), "is that the lake's root?"),
        (("up", "-c", "nowhere.yaml"), "cannot read nowhere.yaml"),
        (("monitor", "--lake", "LAKE", "--listen", "here"), "write host:port"),
        (("evaluate", "--lake", "LAKE", "--every", "often"), "evaluator.every"),
        (("evaluate", "--lake", "LAKE", "--since", "7d", "--dry-run"), "--since, --dry-run: of old answers; add"),
        (("evaluate", "--lake", "LAKE", "--backfill", "--since", "1h", "--deployment", "x"), "has no deployment 'x'"),
    ],
)
def test_an_error_is_a_message_and_not_a_trace(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    """What a person can mend is said in a line, with exit code 2."""
    done = commands.dialwatch(*(argument.replace("LAKE", str(tmp_path)) for argument in arguments))
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def commands_with(option: str) -> set[str]:
    """Every command of the command line that has an option."""
    pairs = [("", get_command(cli.app))]
    found = set()
    for name, command in pairs:
        pairs += [(f"{name} {one}".strip(), sub) for one, sub in getattr(command, "commands", {}).items()]
        if any(option in parameter.opts for parameter in command.params):
            found.add(name)
    return found


def test_who_is_asked_for_a_lake_can_give_one() -> None:
    """All commands that read a configuration have --lake, but the two that need no lake."""
    assert commands_with("--config") - commands_with("--lake") == {"score", "webhook test"}


def test_up_takes_the_lake_of_the_flag(tmp_path: Path) -> None:
    """As the other services do; without any lake the message names what is there."""
    config = tmp_path / "dialwatch.yaml"
    config.write_text("monitor: {listen: here}")
    for arguments, says in (((), "lake.root: is missing; give --lake"), (("--lake", tmp_path), "write host:port")):
        done = commands.dialwatch("up", "-c", config, *arguments)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr


@pytest.mark.integration
def test_a_mistyped_lake_is_noticed(tmp_path: Path) -> None:
    """An evaluation of a lake without a table is no error, for the first lines may be still to come, but it is said."""
    done = dialwatch("evaluate", "--once", "--lake", tmp_path / "typo")
    assert done.returncode == 0
    assert "is that the lake's root?" in done.stderr


def test_the_version_is_printed() -> None:
    """`--version` gives the version of the distribution and nothing else."""
    assert commands.dialwatch("--version").stdout == version("dialwatch") + "\n"


def send(url: str, body: bytes) -> int:
    return httpx.post(url, content=body, headers={"Content-Type": "application/json"}, timeout=60).status_code


@pytest.mark.integration
def test_the_address_of_the_file_counts_where_no_flag_is_given(tmp_path: Path) -> None:
    """`collect http` listens where the configuration says."""
    port = free_port()
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"lake: {{root: {tmp_path}/lake}}\ncollector: {{http: {{listen: '127.0.0.1:{port}'}}}}\n")
    with started("collect", "http", "-c", str(config)) as process:

        def stored() -> bool:
            try:
                return send(f"http://127.0.0.1:{port}/data", chat_line(1)) == 200
            except httpx.TransportError:
                return False

        eventually(stored, process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.integration
def test_up_follows_scores_and_serves_until_sigterm(logs: Path, tmp_path: Path) -> None:
    """One file of settings runs all three services; SIGTERM ends them with what was read committed."""
    port, data = free_port(), free_port()
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f"""
lake: {{root: {tmp_path}/lake}}
collector:
  files: {{paths: ["{tmp_path}/*.log"], poll_seconds: 0.1}}
  http: {{listen: "127.0.0.1:{data}"}}
  flush_seconds: 1
evaluator: {{every: 1, context_grace: 0}}
monitor: {{listen: "127.0.0.1:{port}", refresh_seconds: 1}}
"""
    )
    with started("up", "-c", str(config)) as process:

        def metrics() -> str:
            try:
                return without_installation(httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text)
            except httpx.TransportError:
                return ""

        eventually(lambda: 'dialwatch_lines_total{outcome="stored"} 1.0' in metrics(), process)
        assert send(f"http://127.0.0.1:{data}/data", chat_line(5)) == 200
        eventually(lambda: 'dialwatch_lines_total{outcome="stored"} 2.0' in metrics(), process)
        eventually(
            lambda: 'dialwatch_evaluation_last_success_timestamp_seconds{deployment="rag-app"}' in metrics(), process
        )
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code == 200
        assert "rag-app" in httpx.get(f"http://127.0.0.1:{port}/", timeout=60).text
        with logs.open("ab") as file:
            file.write(chat_line(6) + b"\n")
        eventually(lambda: has_read(process.pid, logs), process)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert "Traceback" not in log
    stored = Lake(f"{tmp_path}/lake").table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist()
    assert sorted(stored) == ["Answer 1.", "Answer 5.", "Answer 6."]
