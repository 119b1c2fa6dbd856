"""Modules that commands load: help and usage errors none that takes long, services nothing that they do not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.main import get_command

from dialwatch.cli import app
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

LIGHT = 494
"""Modules, with Python's own; Typer, Rich and what they need are 440 of them."""

HEAVY = frozenset(
    {
        *("aiohttp", "apscheduler", "botocore", "deltalake", "fastapi", "fsspec", "httpx", "isal", "jinja2", "kafka"),
        *("numpy", "openai", "orjson", "pandas", "prometheus_client", "pyarrow", "pydantic_settings", "s3fs", "scipy"),
        *("starlette", "torch", "transformers", "uvicorn", "yaml"),
    }
)

UNUSED = frozenset(
    {
        *("aiobotocore", "aiohttp", "aidial_sdk", "bm25s", "botocore", "huggingface_hub", "kafka", "openai", "pandas"),
        *("presidio_analyzer", "ray", "s3fs", "scipy", "spacy", "torch", "transformers"),
    }
)
"""Packages that a process with all parts, default metrics and a lake in a folder needs nothing of."""

# Runs the commands that it reads, one after the other, and writes what was loaded with each.
CHILD = """
import contextlib, io, json, sys
from dialwatch.cli import main

results = []
for arguments in json.load(sys.stdin):
    before, code, text = set(sys.modules), 0, io.StringIO()
    sys.argv = ["dialwatch", *arguments]
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    results.append([arguments, code, text.getvalue(), sorted(set(sys.modules) - before)])
json.dump([results, sorted(sys.modules)], sys.stdout)
"""

WRONG_USES = [
    [],
    ["nonsense"],
    ["collect", "files"],
    ["collect", "files", "x.log", "--workers", "0"],
    ["collect", "files", "x.log", "--workers", "many"],
    ["collect", "files", "x.log", "--workers", "2", "--follow"],
    ["collect", "http", "--lake", "x", "--listen", "here"],
    ["monitor", "--lake", "x", "--listen", "here"],
    ["evaluate", "--lake", "x", "--since", "7d"],
    ["evaluate", "--lake", "x", "--backfill"],
    ["evaluate", "--lake", "x", "--backfill", "--since", "soon"],
    ["evaluate", "--lake", "x", "--backfill", "--since", "1h", "--until", "2h"],
    ["evaluate", "--lake", "x", "--backfill", "--since", "1h", "--metrics", ","],
    ["evaluate", "--lake", "x", "--every", "often"],
    ["score"],
    ["score", "a.csv"],
    ["score", "a.csv", "-o", "b.parquet", "--metrics", ","],
    ["score", "a.csv", "-o", "b.parquet", "--workers", "0"],
    ["score", "a.csv", "-o", "b.parquet", "--webhook", "https://a.example/"],
    ["score", "a.csv", "-o", "b.parquet", "--webhook", "https://a.example/", "--webhook-secret-file", "none"],
    ["judge", "calibrate"],
    ["judge", "calibrate", "--likes"],
    ["judge", "calibrate", "labels.csv", "--threshold", "2"],
    ["judge", "calibrate", "labels.csv", "--ask", "1", "--deployment", "d"],
    ["lake", "erase", "--lake", "x"],
    ["lake", "erase", "--lake", "x", "--user", "a", "--chat", "b"],
    ["silence", "add", "--lake", "x", "--for", "8h"],
    ["silence", "add", "--lake", "x", "--all"],
    ["silence", "add", "--lake", "x", "--all", "--for", "8"],
    ["silence", "add", "--lake", "x", "--all", "--until", "tomorrow"],
    ["silence", "add", "--lake", "x", "--deployment", "", "--for", "8h"],
    ["silence", "end"],
    ["release", "mark"],
    ["release", "mark", "--deployment", "d", "--at", "2026-12-01"],
    ["release", "withdraw"],
    ["ground-truth", "list", "--lake", "x", "--status", "good"],
    ["ground-truth", "accept", "--lake", "x"],
    ["ground-truth", "accept", "c", "--lake", "x", "--who", ""],
    ["ground-truth", "edit", "c", "--lake", "x", "--set", "answer"],
    ["ground-truth", "export", "cases.csv", "--lake", "x"],
    ["ground-truth", "import", "cases.csv", "--lake", "x", "--deployment", "d", "--format", "xml"],
    ["ground-truth", "bad", "--lake", "x"],
    ["webhook", "test", "https://a.example/"],
    ["webhook", "test", "nowhere", "--format", "slack"],
    ["webhook", "test", "https://a.example/", "--format", "pigeon"],
]
"""What the command line alone shows to be wrong."""


def all_commands() -> list[list[str]]:
    """Every command and group, by its words."""
    found: list[tuple[list[str], object]] = [([], get_command(app))]
    for words, command in found:
        found += [([*words, name], one) for name, one in getattr(command, "commands", {}).items()]
    return [words for words, _ in found]


def loaded_by(uses: list[list[str]], folder: Path) -> tuple[list[list[object]], set[str]]:
    """Run the commands in one new process; gives what became of each, and all modules that were loaded in the end."""
    ended = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(uses),
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    results, modules = json.loads(ended.stdout)
    return results, set(modules)


@pytest.mark.parametrize("code", [0, 2], ids=["help", "errors"])
def test_help_and_errors_in_use_load_little(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a table is read nor a model loaded to say what a command takes, or that an option is wrong."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    if code == 0:
        uses = [["--version"], *([*words, "--help"] for words in all_commands())]
    else:
        unnamed = [
            ["up"],
            ["collect", "files", "x.log"],
            ["monitor"],
            ["evaluate"],
            ["lake", "ls"],
            ["silence", "list"],
        ]
        uses = [*([*words, "--nonsense"] for words in all_commands()), *unnamed, *WRONG_USES]
    results, modules = loaded_by(uses, tmp_path)
    for arguments, ended, text, loaded in results:
        assert ended == code, (arguments, text)
        assert "Traceback" not in text
        assert not HEAVY & set(loaded), arguments
    assert len(modules) < LIGHT


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_collects_loads_no_pandas(workers: int, tmp_path: Path) -> None:
    """Neither the command nor its workers: Python tells of each module that one of them imports."""
    files = [tmp_path / f"{number}.log" for number in range(workers)]
    for number, file in enumerate(files):
        file.write_bytes(chat_line(number) + b"\n")
    command = [
        sys.executable,
        "-m",
        "dialwatch",
        "collect",
        "files",
        "--lake",
        str(tmp_path / "lake"),
        *map(str, files),
    ]
    ended = subprocess.run(
        [*command, "--workers", str(workers)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONPROFILEIMPORTTIME": "1"},
    )
    assert f"{workers} lines: {workers} stored" in ended.stdout
    imported = imported_modules(ended.stderr)
    assert imported.count("pyarrow.dataset") == (1 if workers == 1 else workers + 1)
    assert not [name for name in imported if name.startswith("pandas.")]


def test_a_process_with_all_parts_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """An answer was collected and scored by the default metrics, and the pages have been asked for."""
    (tmp_path / "core.log").write_bytes(chat_line(0) + b"\n")
    port = free_port()
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"""
lake: {{root: "{tmp_path}/lake"}}
collector: {{files: {{paths: ["{tmp_path}/*.log"], poll_seconds: 0.2}}, flush_seconds: 0.2}}
evaluator: {{every: 1s, context_grace: 0s}}
monitor: {{listen: "127.0.0.1:{port}"}}
""")
    scores = Lake(str(tmp_path / "lake")).table(SCORES, "rag-app")
    with (
        (tmp_path / "stderr").open("wb") as told,
        subprocess.Popen(
            [sys.executable, "-m", "dialwatch", "up", "-c", str(config)],
            stderr=told,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONPROFILEIMPORTTIME": "1"},
        ) as services,
    ):
        try:
            wait_for(lambda: scores.read(["value"]).num_rows)
            for page in ("", "metrics"):
                httpx.get(f"http://127.0.0.1:{port}/{page}", timeout=30).raise_for_status()
        finally:
            services.terminate()
            services.wait(60)
    # Of a package that is looked for and not found its name is told too.
    imported = {name.partition(".")[0] for name in imported_modules((tmp_path / "stderr").read_text()) if "." in name}
    assert {"deltalake", "monitor", "evaluator", "collector"} <= imported
    assert not UNUSED & imported


def imported_modules(told: str) -> list[str]:
    """Return the modules of which Python tells that they were imported, in their order."""
    return [line.rpartition("|")[2].strip() for line in told.splitlines() if line.startswith("import time:")]
