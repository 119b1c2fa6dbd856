"""The command line: wires the services together, decides nothing."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from collector import Collector, FileSource
from dialwatch import running
from dialwatch.config import ConfigError, Settings, load_settings
from dialwatch.serving import AddressError
from evaluator import Evaluator
from lake import BATCHES, GROUND_TRUTH, PARSED_LOGS, SCORES, USER_SIGNALS, Lake

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
collect_app = typer.Typer(no_args_is_help=True, help="Bring DIAL Core's log lines into the lake.")
lake_app = typer.Typer(no_args_is_help=True, help="Look at the tables.")
app.add_typer(collect_app, name="collect")
app.add_typer(lake_app, name="lake")

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="dialwatch.yaml; without it the environment and flags count.")
]
LakeOption = Annotated[
    str | None, typer.Option("--lake", help="Folder or URI of the lake, such as s3://bucket/prefix.")
]


def main() -> None:
    """Run the command line; an error that a person can mend is one message and exit code 2, not a trace."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("apscheduler", "httpx", "aiobotocore", "botocore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        app()
    except (AddressError, ConfigError, OSError) as error:
        print(f"dialwatch: {error}", file=sys.stderr)
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
def up(config: ConfigOption = None) -> None:
    """Run collector, evaluator and monitor in one process."""
    with running.all_services(load_settings(config)):
        running.wait_for_signal()


@collect_app.command("files")
def collect_files(
    paths: Annotated[list[str], typer.Argument(help="Files, folders and globs; plain or gzip; local or s3://.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
    follow: Annotated[bool, typer.Option(help="Go on reading what the files gain, until stopped.")] = False,
) -> None:
    """Read log files: what is there now and was not read before, or on and on with --follow."""
    settings = _settings(config, lake, {"collector": {"files": {"paths": paths}}})
    if follow:
        _run_until_stopped(running.collecting(settings, settings.lake.open()))
        return
    opened = settings.lake.open()
    collector = Collector(opened, settings.collector)
    if not FileSource(paths, settings.lake.storage.storage(), exclude=opened.root).read_into(collector):
        raise FileNotFoundError(f"no file matches {' '.join(paths)}: check the path, and quote globs of s3:// URIs")
    collector.flush()
    counts = collector.totals
    typer.echo(
        f"{counts.lines} lines: {counts.stored} stored, {counts.signals} signals, {counts.duplicates} duplicates, "
        f"{counts.rejected} rejected, {counts.filtered} filtered"
    )


@collect_app.command("http")
def collect_http(
    listen: Annotated[str | None, typer.Option(help="host:port for POST /data.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take log lines over HTTP, as Vector's http sink sends them."""
    settings = _settings(config, lake, {"collector": {"http": {"listen": listen} if listen else {}}})
    _run_until_stopped(running.collecting(settings, settings.lake.open()))


@app.command()
def evaluate(
    lake: LakeOption = None,
    config: ConfigOption = None,
    once: Annotated[bool, typer.Option("--once", help="One pass, then end.")] = False,
    every: Annotated[str | None, typer.Option(help="Time between passes, such as 30s, 5m or 1h.")] = None,
) -> None:
    """Score the answers that are new, and turn liked ones into ground truth."""
    settings = _settings(config, lake, {"evaluator": {"every": every}} if every else {})
    if not once:
        _run_until_stopped(running.evaluating(settings, settings.lake.open()))
        return
    opened = settings.lake.open()
    _warn_if_empty(opened)
    result = Evaluator(opened, settings.evaluator).run_once()
    unscored = ", ".join(f"{count} {reason}" for reason, count in sorted(result.unscored.items())) or "none"
    typer.echo(
        f"{result.deployments} deployments: {result.scored} scores, without a value: {unscored}; "
        f"{result.cases} new cases"
    )
    for failure in result.failures:
        typer.echo(f"{failure.deployment}: {failure.error}", err=True)
    if result.failures:
        sys.exit(1)


@app.command()
def monitor(
    lake: LakeOption = None,
    config: ConfigOption = None,
    listen: Annotated[str | None, typer.Option(help="host:port of the pages and metrics.")] = None,
) -> None:
    """Serve metrics and pages, find regressions, send webhooks."""
    settings = _settings(config, lake, {"monitor": {"listen": listen}} if listen else {})
    _run_until_stopped(running.monitoring(settings, settings.lake.open()))


@lake_app.command("ls")
def lake_ls(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the deployments and how many rows their tables have."""
    opened = _settings(config, lake, {}).lake.open()
    _warn_if_empty(opened)
    table = Table("deployment", "requests", "signals", "scores", "cases")
    for deployment in opened.deployments():
        counts = [
            opened.table(spec, deployment).read(["deployment"]).num_rows
            for spec in (PARSED_LOGS, USER_SIGNALS, SCORES, GROUND_TRUTH)
        ]
        table.add_row(deployment or "(none)", *(f"{count:,}" for count in counts))
    Console().print(table)
    batches = opened.table(BATCHES).read(["lines", "rejected"])
    lines, rejected = (sum(batches[name].to_pylist()) for name in ("lines", "rejected"))
    typer.echo(f"{lines:,} lines collected, {rejected:,} of them rejected (table _rejected)")


@app.command("version")
def show_version() -> None:
    """Print the version."""
    typer.echo(version("dialwatch"))


def _settings(config: Path | None, lake: str | None, overrides: dict[str, dict[str, Any]]) -> Settings:
    return load_settings(config, ({"lake": {"root": lake}} if lake else {}) | overrides)


def _warn_if_empty(lake: Lake) -> None:
    if not lake.deployments():
        typer.echo(f"no deployment has a table under {lake.root}: is that the lake's root?", err=True)


def _run_until_stopped(service: Any) -> None:
    with service:
        running.wait_for_signal()
