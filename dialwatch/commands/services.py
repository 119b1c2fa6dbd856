"""The commands that run services: `dialwatch collect ...`, `dialwatch monitor` and `dialwatch up`, and the demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, checked_address, settings_of
from dialwatch.services.ending import end_by_signals, wait_for_signal
from runtime.lean_process import leave_pandas_unloaded, share_arenas, tune_memory, use_one_blas_thread

if TYPE_CHECKING:
    from dialwatch.config import Settings

collect_app = typer.Typer(no_args_is_help=True)


@collect_app.callback()
def collect() -> None:
    """Bring DIAL Core's log lines into the lake."""
    use_one_blas_thread()


@collect_app.command("files")
def collect_files(
    paths: Annotated[list[str], typer.Argument(help="Files, folders and globs; plain or gzip; local or s3://.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on reading what the files gain, until stopped.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the files; not with --follow.")] = 1,
) -> None:
    """Read log files: what is there now and was not read before, or on and on with --follow."""
    if follow and workers > 1:
        raise typer.BadParameter("--workers and --follow exclude each other: one process is enough to follow files")
    if follow:
        end_by_signals()
    settings = _settings(config, lake, {"collector": {"files": {"paths": paths}}})
    if follow:
        _run_until_stopped(settings)
        return
    from dialwatch.services.collecting import collect_once

    tune_memory()
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
    end_by_signals()
    flags = {
        "bootstrap_servers": bootstrap_servers and bootstrap_servers.split(","),
        "topics": topic,
        "group_id": group_id,
    }
    given = {key: value for key, value in flags.items() if value}
    _run_until_stopped(_settings(config, lake, {"collector": {"kafka": given}}))


@collect_app.command("http")
def collect_http(
    listen: Annotated[str | None, typer.Option(help="host:port for POST /data, /signals and /scores.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take log lines over HTTP, as Vector's http sink sends them, and signals and scores from other places."""
    end_by_signals()
    _run_until_stopped(_settings(config, lake, {"collector": {"http": checked_address(listen)}}))


def _settings(config: Path | None, lake: str | None, flags: dict[str, Any]) -> Settings:
    """Return the settings; what they import must find Arrow without pandas."""
    return settings_of(config, lake, flags, prepare=leave_pandas_unloaded)


def _take_little_memory() -> None:
    share_arenas()
    leave_pandas_unloaded()


def _run_until_stopped(settings: Settings) -> None:
    from dialwatch.services import running

    with running.only_collector(settings):
        tune_memory()
        wait_for_signal()


def monitor(
    lake: LakeOption = None,
    config: ConfigOption = None,
    listen: Annotated[str | None, typer.Option(help="host:port of the pages and metrics.")] = None,
) -> None:
    """Serve metrics and pages, find regressions, send webhooks."""
    end_by_signals()
    address = checked_address(listen)
    settings = settings_of(config, lake, {"monitor": address} if address else {}, prepare=_take_little_memory)
    from dialwatch.services import running

    with running.only_monitor(settings):
        wait_for_signal()


def up(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Run collector, evaluator and monitor in one process."""
    end_by_signals()
    settings = settings_of(config, lake, prepare=_take_little_memory)
    from dialwatch.services import running

    with running.all_services(settings):
        wait_for_signal()


def demo(
    once: Annotated[bool, typer.Option("--once", help="End when all is shown; exit code 0 if all worked.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Keep logs and lake in this new folder.")] = None,
) -> None:
    """Show it all at work, in one process: a day of traffic with a drop in quality planted in it."""
    from dialwatch.demo.run import run_demo

    sys.exit(run_demo(once=once, keep=keep))
