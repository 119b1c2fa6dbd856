"""`dialwatch judge`: see how far a judge can be trusted."""

from __future__ import annotations

from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import jinja2
import numpy as np
import numpy.typing as npt
import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.lake_access import usual_permissions
from dialwatch.reports.calibration import Report, report
from evaluator import EvaluatorSettings, Judges
from evaluator.calibration import (
    PASSES,
    Asked,
    CalibrationError,
    ask,
    calibrate,
    scored_answers,
    with_labels,
    with_likes,
)
from evaluator.judge_binding import judges_of
from evaluator.metrics import MissingColumnError
from evaluator.metrics.combination import Combination
from evaluator.metrics.llm.ensemble import Ensemble
from evaluator.metrics.llm.llm_metric import LlmMetric
from lake import Lake

app = typer.Typer(no_args_is_help=True, help="See how far a judge can be trusted.")


@app.callback()
def judge() -> None:
    """See how far a judge can be trusted."""


@app.command("calibrate")
def calibrate_judge(
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
    likes: Annotated[bool, typer.Option("--likes", help="Take people's likes and dislikes as labels.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="What to compare with: a column of the file, or with --ask or --deployment a metric."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Least score that is a yes; labels are yes from 0.5 on.")
    ] = PASSES,
    html: Annotated[Path | None, typer.Option(help="Page to write.")] = None,
    page: Annotated[Path | None, typer.Option(hidden=True, help="As --html, its earlier name.")] = None,
) -> None:
    """Compare a judge's scores with people's labels, and correct its mean by them.

    Label 100 to 300 answers drawn at random; the scores of all the others then take part in the corrected mean.
    """
    if likes == (labels is not None):
        raise typer.BadParameter("give a file of labels, or --likes")
    if likes and deployment is None:
        raise typer.BadParameter("--likes needs --deployment: people's signals are in its tables")
    if ask_times and (labels is None or deployment is not None):
        raise typer.BadParameter("--ask asks about the rows of a file of labels: leave out --deployment and --likes")
    table = None if labels is None else _read(labels)
    asked: list[Asked] = []
    if ask_times and table is not None:
        evaluator = settings_of(config, ".").evaluator
        asked.append(_asked(evaluator, metric, table, ask_times))
        table = table.assign(score=asked[0].scores)
        if compare is not None and compare not in table.columns:
            asked.append(_asked(evaluator, compare, table, 1))
            table[compare] = asked[1].scores
    if deployment is not None:
        opened = settings_of(config, lake).lake.open()
        table = _of_deployment(opened, deployment, metric, table, compare)
    assert table is not None  # noqa: S101 - for the type: the file or the deployment gave it
    other = None if compare is None else _scores(table, compare)
    draws, reordered = (asked[0].draws, asked[0].reordered) if asked else (None, None)
    found = calibrate(table, self_selected=likes, draws=draws, reordered=reordered, other=other, threshold=threshold)
    title = labels.name if labels is not None and deployment is None else f"{metric} of {deployment}"
    shown = report(found, compare, threshold)
    _print(title, shown)
    if asked:
        for one in asked:
            if one.unscored:
                typer.echo(f"rows without a score: {_reasons(one)}")
        calls, cost = sum(one.calls for one in asked), sum(one.cost for one in asked)
        typer.echo(f"{calls:,} calls of the judge for {cost:,.4f}, in the currency of its prices")
    if (page := html or page) is not None:
        environment = jinja2.Environment(loader=jinja2.PackageLoader("dialwatch.reports"), autoescape=True)
        template = environment.get_template("calibration.html")
        text = template.render(title=title, report=shown, version=version("dialwatch"))
        with usual_permissions():
            page.write_text(text, encoding="utf-8")
        typer.echo(f"written to {page}")


def _read(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".jsonl":
        return pd.read_json(path, lines=True)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    raise CalibrationError(f"{path} must end in .csv, .jsonl or .parquet")


def _asked(settings: EvaluatorSettings, name: str, table: pd.DataFrame, times: int) -> Asked:
    with closing(Judges(settings)) as judges:
        try:
            (metric,) = judges.bound([settings.metric(name)])
        except ValueError as error:
            raise CalibrationError(str(error)) from None
        if not isinstance(metric, LlmMetric | Ensemble | Combination) or not judges_of(metric):
            raise CalibrationError(f"metric {name!r} asks no judge: there is nothing to ask")
        try:
            asked = ask(metric, table, times)
        except MissingColumnError as error:
            raise CalibrationError(str(error)) from None
    if asked.unscored.total() == len(table):
        raise CalibrationError(f"no row got a score: {_reasons(asked)}; see the log, where the judge is to blame")
    return asked


def _reasons(asked: Asked) -> str:
    return ", ".join(f"{number:,} {reason}" for reason, number in sorted(asked.unscored.items()))


def _of_deployment(
    lake: Lake, deployment: str, metric: str, labels: pd.DataFrame | None, compare: str | None
) -> pd.DataFrame:
    scored = scored_answers(lake, deployment, metric)
    if compare is not None:
        other = scored_answers(lake, deployment, compare)[["event_id", "score"]]
        scored = scored.merge(other.rename(columns={"score": compare}), on="event_id", how="left")
    if labels is None:
        return with_likes(lake, deployment, scored)
    return with_labels(lake, deployment, scored, labels)


def _scores(table: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    if column not in table.columns:
        raise CalibrationError(f"there is no column {column!r} to compare with; it has {', '.join(table.columns)}")
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)


def _print(title: str, shown: Report) -> None:
    console = Console()
    console.print(f"[bold]{escape(title)}[/bold]: {escape(shown.summary)}")
    for section in shown.sections:
        grid = Grid(title=section.title, title_justify="left", show_header=False, box=None, pad_edge=False)
        grid.add_column(no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_column()
        for line in section.lines:
            grid.add_row(line.name, line.value, line.interval, line.meaning)
        console.print(grid)
    for advice in shown.advice:
        console.print(f"- {escape(advice)}")
