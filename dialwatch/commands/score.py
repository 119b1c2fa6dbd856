"""The command `dialwatch score`: tables of answers and ground truth in, scores out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialwatch.commands.options import (
    NO_LAKE,
    ConfigOption,
    EngineOption,
    WorkersOption,
    engine_settings,
    metric_names,
    receiver_of,
    settings_of,
)

ALL = "all"
"""Value of `--metrics` for all that the columns of the tables allow."""


def score(
    answers: Annotated[str, typer.Argument(help="Table of answers: .parquet, .csv or .jsonl; local or s3://.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Parquet table to write, with its metadata beside it.")],
    ground_truth: Annotated[
        str | None, typer.Option(help="Table of ground truth, joined by case_id, or documents and question.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Names, such as facts_recall,ndcg@5, or combinations, separated by commas or given again; all, the "
            "default: what the columns allow."
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Write <metric>_details too: JSON with claims, verdicts, bounds.")
    ] = False,
    engine: EngineOption = None,
    workers: WorkersOption = None,
    html: Annotated[Path | None, typer.Option(help="Page to write, with the distributions of the scores.")] = None,
    webhook_url: Annotated[str | None, typer.Option("--webhook", help="URL that the means are sent to.")] = None,
    webhook_secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs them.")] = None,
    config: ConfigOption = None,
) -> None:
    """Score a table of answers, against a table of ground truth if there is one.

    The exit code is 1 where the table is written, but nothing was scored, a cell could not be read, a judge answered
    about no row, the webhook did not accept the means, or a metric that was asked for by its name lacks its model.
    """
    if (webhook_url is None) != (webhook_secret_file is None):
        raise typer.BadParameter("--webhook and --webhook-secret-file go together: what is sent is signed")
    names = metric_names(metrics, ALL) if metrics else [ALL]
    receiver = None if webhook_url is None else receiver_of(webhook_url, webhook_secret_file, "--webhook: ")
    settings = settings_of(config, NO_LAKE, engine_settings(engine, workers))
    from dialwatch.actions.scoring import Tables, score_tables

    score_tables(
        Tables(answers, ground_truth, output, html),
        None if names == [ALL] else names,
        settings,
        receiver,
        details=details,
    )
