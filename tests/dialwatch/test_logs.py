"""What processes write to stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

UNEXPECTED = """
import sys, threading
import dialwatch.commands.lake as commands
from dialwatch.cli import main

def fail(*_, **__):
    thread = threading.Thread(target=int, args=("no number",))
    thread.start()
    thread.join()
    raise ZeroDivisionError("odd")

commands.open_filled = fail
main()
"""


def run(folder: Path, program: list[str], *arguments: str, **log: str) -> tuple[int, str]:
    environment = os.environ | {f"DIALWATCH_LOG__{key.upper()}": value for key, value in log.items()}
    command = [sys.executable, *program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=90, check=False)
    return done.returncode, done.stderr


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.HTTPError:
        return False


def run_service(folder: Path, **log: str) -> str:
    """Give what `dialwatch up` writes until it has figures and is asked to end."""
    port = free_port()
    environment = os.environ | {f"DIALWATCH_LOG__{key.upper()}": value for key, value in log.items()}
    environment |= {"DIALWATCH_MONITOR__LISTEN": f"127.0.0.1:{port}", "DIALWATCH_LAKE__ROOT": str(folder / "lake")}
    command = [sys.executable, "-m", "dialwatch", "up"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder) as process:
        try:
            wait_for(lambda: answers(f"http://127.0.0.1:{port}/readyz"))
        finally:
            process.terminate()
        _, text = process.communicate(timeout=60)
    assert process.returncode == 0
    return text


def test_every_line_is_json_where_that_is_chosen(tmp_path: Path) -> None:
    """Of a service, and the error that ends a command."""
    found = records(run_service(tmp_path, format="json"))
    assert {"info", "warning"} <= {record["level"] for record in found}
    assert any("evaluating every 60 seconds" in record["message"] for record in found)
    code, text = run(tmp_path, ["-m", "dialwatch"], "monitor", "--lake", "lake", "--listen", "nowhere", format="json")
    assert code == 2
    (error,) = records(text)
    assert (error["level"], error["logger"]) == ("error", "dialwatch")
    assert "nowhere" in error["message"]


def test_the_level_hides_what_is_below_it(tmp_path: Path) -> None:
    """A warning stays, and what was only said does not; text for people without a choice."""
    empty, source = run_service(tmp_path, level="warning").splitlines()
    assert " WARNING dialwatch.services.lake_contents: the lake " in empty
    assert " WARNING dialwatch.services.running: the collector has no source" in source


def test_an_error_that_nobody_expected_is_one_record(tmp_path: Path) -> None:
    """With its traceback as a member, of the main thread and of others."""
    code, text = run(tmp_path, ["-c", UNEXPECTED], "lake", "ls", "--lake", "lake", format="json")
    assert code == 1
    of_thread, of_process = records(text)
    assert "invalid literal" in of_thread["traceback"]
    assert of_process["traceback"].endswith("ZeroDivisionError: odd")
