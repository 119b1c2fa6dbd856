"""The command `dialwatch judge calibrate`: how far a judge can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialwatch.commands.options import NO_LAKE, ConfigOption, LakeOption, settings_of

app = typer.Typer(no_args_is_help=True, help="See how far a judge can be trusted.")


@app.callback()
def judge() -> None:
    """See how far a judge can be trusted."""


@app.command("calibrate")
def calibrate(
    labels: Annotated[
        Path | None,
        typer.Argument(help="Labels: .csv, .jsonl or .parquet with label (0 to 1), and score or response_id."),
    ] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
    deployment: Annotated[str | None, typer.Option(help="Whose scores; without it the file has them.")] = None,
    metric: Annotated[
        str, typer.Option(help="Which scores of the deployment, or what --ask asks.")
    ] = "faithfulness_claims",
    ask_times: Annotated[
        int,
        typer.Option(
            "--ask",
            min=0,
            help="Ask the judge of --config about the file's rows, so many times; 2 or more show chance.",
        ),
    ] = 0,
    labelled: Annotated[
        bool, typer.Option("--labelled", help="Take the labels that people gave on the pages or by `dialwatch label`.")
    ] = False,
    likes: Annotated[
        bool, typer.Option("--likes", help="Take likes and dislikes as labels too; a label beats them.")
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="What to compare with: a column of the file, or with --ask or --deployment a metric."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Least score that is a yes, 0.5 by default; labels are yes from 0.5 on."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    page: Annotated[Path | None, typer.Option(hidden=True, help="As --html, its earlier name.")] = None,
) -> None:
    """Compare a judge's scores with people's labels, and correct its mean by them.

    Label 100 to 300 answers drawn at random; the scores of all the others then take part in the corrected mean.
    """
    if [labels is not None, labelled, likes].count(True) != 1:
        raise typer.BadParameter("give a file of labels, --labelled or --likes")
    if labels is None and deployment is None:
        raise typer.BadParameter("--labelled and --likes need --deployment: what people said is in its tables")
    if ask_times and (labels is None or deployment is not None):
        raise typer.BadParameter(
            "--ask asks about the rows of a file of labels: leave out --deployment, --labelled and --likes"
        )
    needs_settings = ask_times or deployment is not None
    settings = settings_of(config, NO_LAKE if deployment is None else lake) if needs_settings else None
    from dialwatch.actions.calibration import CalibrationRequest, calibrate_judge

    request = CalibrationRequest(labels, deployment, metric, ask_times, compare, threshold, labelled)
    calibrate_judge(request, settings, html or page)
