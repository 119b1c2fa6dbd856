"""The command line: wires the services together, decides nothing."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError
from deltalake.exceptions import DeltaError

from collector import WorkerError
from dialwatch import (
    evaluate_command,
    judge_command,
    lake_commands,
    release_command,
    running,
    score_command,
    silence_command,
    webhook_command,
)
from dialwatch.collecting import collect_once
from dialwatch.config import ConfigError, Settings, load_settings
from dialwatch.serving import AddressError
from evaluator.calibration import CalibrationError
from evaluator.datasets import DatasetError
from evaluator.metrics import UnknownMetricError
from lake import LostRaceError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
collect_app = typer.Typer(no_args_is_help=True, help="Bring DIAL Core's log lines into the lake.")
app.add_typer(collect_app, name="collect")
app.add_typer(lake_commands.app, name="lake")
app.add_typer(webhook_command.app, name="webhook")
app.add_typer(silence_command.app, name="silence")
app.add_typer(release_command.app, name="release")
app.add_typer(judge_command.app, name="judge")
app.command("evaluate")(evaluate_command.evaluate)
app.command("score")(score_command.score)

_MENDABLE = (
    AddressError,
    CalibrationError,
    ConfigError,
    DatasetError,
    DeltaError,
    LostRaceError,
    OSError,
    UnknownMetricError,
    WorkerError,
)

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="dialwatch.yaml; without it the environment and flags count.")
]
LakeOption = Annotated[
    str | None, typer.Option("--lake", help="Folder or URI of the lake, such as s3://bucket/prefix.")
]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(version("dialwatch"))
        raise typer.Exit


@app.callback()
def dialwatch(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Watch the quality of the applications behind AI DIAL."""


def main() -> None:
    """Run the command line; an error that a person can mend is one message and exit code 2, not a trace."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("httpx", "httpx2", "aiobotocore", "botocore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # A pass that is not begun while the one before still runs is no news.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    # It repeats itself ten times a second; the collector says once what is wrong with Kafka, and when it is over.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        app()
    except _MENDABLE as error:
        print(f"dialwatch: {error}", file=sys.stderr)
        sys.exit(2)
    except BotoCoreError as error:
        print(f"dialwatch: {error}; check lake.storage and AWS_...", file=sys.stderr)
        sys.exit(2)


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="End when all is shown; exit code 0 if all worked.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Keep logs and lake in this new folder.")] = None,
) -> None:
    """Show it all at work, in one process: a day of traffic with a drop in quality planted in it."""
    from dialwatch.demo.run import run_demo

    sys.exit(run_demo(once=once, keep=keep))


@app.command()
def up(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Run collector, evaluator and monitor in one process."""
    with running.all_services(_settings(config, lake, {})):
        running.wait_for_signal()


@collect_app.command("files")
def collect_files(
    paths: Annotated[list[str], typer.Argument(help="Files, folders and globs; plain or gzip; local or s3://.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on reading what the files gain, until stopped.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the files; not with --follow.")] = 1,
) -> None:
    """Read log files: what is there now and was not read before, or on and on with --follow."""
    settings = _settings(config, lake, {"collector": {"files": {"paths": paths}}})
    if follow and workers > 1:
        raise typer.BadParameter("--workers and --follow exclude each other: one process is enough to follow files")
    if follow:
        _run_until_stopped(running.only_collector(settings))
        return
    found, counts = collect_once(settings, paths, workers)
    if not found:
        raise FileNotFoundError(f"no file matches {' '.join(paths)}: check the path, and quote globs of s3:// URIs")
    typer.echo(
        f"{counts.lines} lines: {counts.stored} stored, {counts.signals} signals, {counts.duplicates} duplicates, "
        f"{counts.rejected} rejected, {counts.filtered} filtered"
    )


@collect_app.command("kafka")
def collect_kafka(
    bootstrap_servers: Annotated[str | None, typer.Option(help="Brokers, host:port, separated by commas.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Topic to read; may be given again for more.")] = None,
    group_id: Annotated[str | None, typer.Option(help="Consumer group; its collectors share the partitions.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Read Kafka topics until stopped; any number of collectors may share them."""
    flags = {
        "bootstrap_servers": bootstrap_servers and bootstrap_servers.split(","),
        "topics": topic,
        "group_id": group_id,
    }
    given = {key: value for key, value in flags.items() if value}
    settings = _settings(config, lake, {"collector": {"kafka": given}})
    _run_until_stopped(running.only_collector(settings))


@collect_app.command("http")
def collect_http(
    listen: Annotated[str | None, typer.Option(help="host:port for POST /data and /signals.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take log lines over HTTP, as Vector's http sink sends them, and signals from other places."""
    settings = _settings(config, lake, {"collector": {"http": {"listen": listen} if listen else {}}})
    _run_until_stopped(running.only_collector(settings))


@app.command()
def monitor(
    lake: LakeOption = None,
    config: ConfigOption = None,
    listen: Annotated[str | None, typer.Option(help="host:port of the pages and metrics.")] = None,
) -> None:
    """Serve metrics and pages, find regressions, send webhooks."""
    settings = _settings(config, lake, {"monitor": {"listen": listen}} if listen else {})
    _run_until_stopped(running.only_monitor(settings))


def _settings(config: Path | None, lake: str | None, overrides: dict[str, dict[str, Any]]) -> Settings:
    return load_settings(config, ({"lake": {"root": lake}} if lake else {}) | overrides)


def _run_until_stopped(service: Any) -> None:
    with service:
        running.wait_for_signal()
