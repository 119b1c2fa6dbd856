"""The command line `dialwatch`: its commands, its log, and its messages for errors that a person can fix."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, NoReturn

import typer

from dialwatch import __version__
from dialwatch.commands import (
    answers,
    compare,
    digest,
    evaluate,
    ground_truth,
    incidents,
    judge,
    lake,
    release,
    score,
    services,
    silence,
    support_bundle,
    thresholds,
    webhook,
)
from dialwatch.commands.check import check
from dialwatch.errors import AddressError, ConfigError
from runtime.logs import Logs, chosen_logs, configure_logs

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("demo")(services.demo)
app.command("up")(services.up)
app.command("monitor")(services.monitor)
app.command("check")(check)
app.command("support-bundle")(support_bundle.support_bundle)
app.add_typer(services.collect_app, name="collect")
app.add_typer(lake.app, name="lake")
app.add_typer(webhook.app, name="webhook")
app.add_typer(silence.app, name="silence")
app.add_typer(release.app, name="release")
app.add_typer(incidents.app, name="incidents")
app.add_typer(ground_truth.app, name="ground-truth")
app.add_typer(judge.app, name="judge")
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("digest")(digest.digest)
app.command("thresholds")(thresholds.thresholds)
app.command("score")(score.score)
app.command("label")(answers.label)
app.command("show")(answers.show)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def dialwatch(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Watch the quality of the applications behind AI DIAL."""


def main() -> None:
    """Run the command line; an error that a person can fix is one message and exit code 2, not a trace."""
    # Until the configuration is read, which may say otherwise; what is wrong with it is logged too.
    configure_logs(Logs(format="json" if os.environ.get("DIALWATCH_LOG__FORMAT") == "json" else "text"))
    try:
        app()
    except (AddressError, ConfigError, OSError) as error:
        _end(error)
    except Exception as error:
        if (advice := _advice_on(error)) is None:
            raise
        _end(error, advice)


def _end(error: Exception, advice: str = "") -> NoReturn:
    if chosen_logs().format == "json":
        logging.getLogger("dialwatch").error("%s%s", error, advice)
    else:
        print(f"dialwatch: {error}{advice}", file=sys.stderr)
    sys.exit(2)


def _advice_on(error: Exception) -> str | None:
    """Say what a person can do about an error, beyond its own message; None for one that nobody expects."""
    from botocore.exceptions import BotoCoreError

    from collector.runners.workers import WorkerError
    from evaluator.calibration import CalibrationError
    from evaluator.datasets import DatasetError
    from evaluator.metrics import UnknownMetricError
    from lake.delta_log.change import LostRaceError
    from lake.store.store_errors import TableError
    from lake.tables.storage import UnsupportedStoreError

    if isinstance(error, BotoCoreError):
        return "; check lake.storage and AWS_..."
    fixable = (
        CalibrationError
        | DatasetError
        | LostRaceError
        | TableError
        | UnknownMetricError
        | UnsupportedStoreError
        | WorkerError
    )
    return "" if isinstance(error, fixable) else None
