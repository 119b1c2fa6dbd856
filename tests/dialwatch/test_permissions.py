"""Permissions of the files that dialwatch writes on a local disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dialwatch.config import LakeSettings
from dialwatch.errors import ConfigError
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for


def modes(root: Path) -> set[tuple[str, str]]:
    """Kinds and permissions of all that stands below the root, and of the root."""
    return {
        ("folder" if stat.S_ISDIR(status.st_mode) else "file", f"{stat.S_IMODE(status.st_mode):04o}")
        for path in (root, *root.rglob("*"))
        for status in [path.lstat()]
    }


def run(*arguments: object, **options: str) -> None:
    """Run a command as from a shell that keeps nothing from anybody."""
    environment = os.environ | options
    command = [sys.executable, "-m", "dialwatch", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, umask=0, env=environment, timeout=120)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("access", "folder", "file"), [(None, "0700", "0600"), ("group", "0770", "0660"), ("all", "0755", "0644")]
)
def test_what_up_writes_may_be_read_by_its_account_alone(
    tmp_path: Path, access: str | None, folder: str, file: str
) -> None:
    """Tables, their logs and folders, of every part; and by the group or by all where `lake.access` says so."""
    root, log, config = tmp_path / "data" / "lake", tmp_path / "aidial.log", tmp_path / "dialwatch.yaml"
    log.write_bytes(b"\n".join(map(chat_line, range(3))) + b"\nno json\n")
    config.write_text(
        f"""
lake: {{root: {root}{f", access: {access}" if access else ""}}}
collector: {{files: {{paths: ["{log}"], poll_seconds: 0.1}}, flush_seconds: 0.1}}
evaluator: {{every: 0.2, metrics: [context_present], context_grace: 0}}
monitor: {{listen: "127.0.0.1:{free_port()}"}}
"""
    )
    command = [sys.executable, "-m", "dialwatch", "up", "-c", str(config)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, umask=0) as process:
        try:
            lake = Lake(str(root))
            wait_for(lambda: lake.table(SCORES, "rag-app").read(["score_id"]).num_rows > 0, 60)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert modes(root) == {("folder", folder), ("file", file)}
    assert (modes(tmp_path / "data") - {("file", file)}) == {("folder", folder)}


@pytest.mark.integration
def test_what_commands_write_may_be_read_by_its_account_alone(tmp_path: Path) -> None:
    """Collecting with two processes, scoring, marking, compacting and erasing leave nothing open."""
    root = tmp_path / "lake"
    for number in range(4):
        (tmp_path / f"{number}.log").write_bytes(chat_line(number) + b"\n")
    run("collect", "files", f"{tmp_path}/[01].log", "--lake", root, "--workers", "2")
    run("collect", "files", f"{tmp_path}/[23].log", "--lake", root)
    run("evaluate", "--lake", root, "--once", DIALWATCH_EVALUATOR__CONTEXT_GRACE="0")
    assert Lake(str(root)).table(SCORES, "rag-app").read(["score_id"]).num_rows > 0
    run("silence", "add", "--lake", root, "--deployment", "rag-app", "--for", "1h", "--comment", "x")
    run("release", "mark", "--lake", root, "--deployment", "rag-app", "--comment", "x")
    run("lake", "compact", "--lake", root)
    (first,) = Lake(str(root)).table(PARSED_LOGS, "rag-app").read(["response_id"])["response_id"].to_pylist()[:1]
    run("lake", "erase", "--lake", root, "--response", first, XDG_STATE_HOME=str(tmp_path / "state"))
    assert modes(root) == {("folder", "0700"), ("file", "0600")}


def test_root_leaves_nothing_in_a_lake_of_another_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The account of the services could not read it: the command ends before it writes, and says what to do."""
    table = tmp_path / "lake" / "rag-app"
    table.mkdir(parents=True)
    settings = LakeSettings(root=str(tmp_path / "lake"))
    if os.geteuid() == 0:
        settings.open()
        os.chown(table, 65534, 65534)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ConfigError, match=r"belongs to the account \S+, which could not read .* sudo -u"):
        settings.open()


@pytest.mark.integration
def test_a_report_has_the_permissions_of_the_shell(tmp_path: Path) -> None:
    """It is no part of the lake, whoever opened the lake before."""
    script = """
import pathlib
from dialwatch.config import LakeSettings
from dialwatch.lake_access import usual_permissions
LakeSettings(root="lake").open()
with usual_permissions():
    pathlib.Path("report").touch()
pathlib.Path("row").touch()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, umask=0o027, timeout=120)
    assert [f"{(tmp_path / name).stat().st_mode:o}"[-3:] for name in ("report", "row")] == ["640", "600"]
