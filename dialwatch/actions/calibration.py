"""A judge's scores against people's labels: the work, and the report on the terminal and as a page."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import numpy.typing as npt
import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from dialwatch import __version__
from dialwatch.config import Settings
from dialwatch.lake_access import usual_permissions
from dialwatch.reports.calibration_report import CalibrationReport, report
from evaluator import EvaluatorSettings, JudgePool
from evaluator.calibration import (
    PASS_THRESHOLD,
    CalibrationError,
    RepeatedScores,
    ask,
    calibrate,
    scored_answers,
    with_labels,
    with_labels_of_lake,
    with_likes,
)
from evaluator.datasets import DatasetError, read_dataset
from evaluator.judge_binding import judges_of
from evaluator.metrics import MissingColumnError
from evaluator.metrics.combination import Combination
from evaluator.metrics.ensemble import Ensemble
from evaluator.metrics.llm.llm_metric import LlmMetric
from lake.tables.lake import Lake

_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class CalibrationRequest:
    """Scores and the labels that they are compared with.

    `labels` is a file, None where what people said of the deployment's answers is taken: labels alone
    (`labelled_alone`), or ratings too. The scores of `metric` are those of the
    deployment, or what the judge says when asked `ask_times` about the file's rows, or else the file's own. `compare`
    is another metric, or column, `threshold` the least score that is a yes.
    """

    labels: Path | None
    deployment: str | None
    metric: str
    ask_times: int = 0
    compare: str | None = None
    threshold: float | None = None
    labelled_alone: bool = False

    @property
    def title(self) -> str:
        """Title of the report."""
        if self.labels is not None and self.deployment is None:
            return self.labels.name
        return f"{self.metric} of {self.deployment}"


def calibrate_judge(request: CalibrationRequest, settings: Settings | None, page: Path | None) -> None:
    """Compare scores with labels, print what was found, and write it as a page too where one is asked for.

    `settings` are needed where a judge is asked or a deployment's scores are read. Raises CalibrationError.
    """
    table = None if request.labels is None else _read(request.labels)
    asked: list[RepeatedScores] = []
    compare = request.compare
    if request.ask_times and table is not None and settings is not None:
        asked.append(_asked(settings.evaluator, request.metric, table, request.ask_times))
        table = table.assign(score=asked[0].scores)
        if compare is not None and compare not in table.columns:
            asked.append(_asked(settings.evaluator, compare, table, 1))
            table[compare] = asked[1].scores
    if request.deployment is not None and settings is not None:
        table = _of_deployment(settings.lake.open(), request.deployment, request, table)
    assert table is not None  # noqa: S101 - for the type: the file or the deployment gave it
    threshold = PASS_THRESHOLD if request.threshold is None else request.threshold
    found = calibrate(
        table,
        self_selected=request.labels is None,
        draws=asked[0].draws if asked else None,
        reordered=asked[0].reordered if asked else None,
        other=None if compare is None else _scores(table, compare),
        threshold=threshold,
    )
    shown = report(found, compare, threshold)
    _print(request.title, shown)
    if asked:
        _print_asked(asked)
    if page is not None:
        _write_page(page, request.title, shown)


def _read(path: Path) -> pd.DataFrame:
    try:
        table, _ = read_dataset(str(path))
    except DatasetError as error:
        raise CalibrationError(str(error)) from None
    for name in {"score", "label"} & set(table.columns):
        # Cells of CSV are text.
        table[name] = table[name].map(lambda cell: _BOOLEANS.get(str(cell).lower(), cell))
    return table


def _print_asked(asked: list[RepeatedScores]) -> None:
    for one in asked:
        if one.unscored:
            typer.echo(f"rows without a score: {_reasons(one)}")
    calls, cost = sum(one.calls for one in asked), sum(one.cost for one in asked)
    typer.echo(f"{calls:,} calls of the judge for {cost:,.4f}, in the currency of its prices")


def _write_page(page: Path, title: str, shown: CalibrationReport) -> None:
    environment = jinja2.Environment(loader=jinja2.PackageLoader("dialwatch.reports"), autoescape=True)
    text = environment.get_template("calibration.html").render(title=title, report=shown, version=__version__)
    with usual_permissions():
        page.write_text(text, encoding="utf-8")
    typer.echo(f"written to {page}")


def _asked(settings: EvaluatorSettings, name: str, table: pd.DataFrame, times: int) -> RepeatedScores:
    with closing(JudgePool(settings)) as judges:
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


def _reasons(asked: RepeatedScores) -> str:
    return ", ".join(f"{number:,} {reason}" for reason, number in sorted(asked.unscored.items()))


def _of_deployment(
    lake: Lake, deployment: str, request: CalibrationRequest, labels: pd.DataFrame | None
) -> pd.DataFrame:
    scored = scored_answers(lake, deployment, request.metric)
    if request.compare is not None:
        other = scored_answers(lake, deployment, request.compare)[["event_id", "score"]]
        scored = scored.merge(other.rename(columns={"score": request.compare}), on="event_id", how="left")
    if labels is None:
        said = with_labels_of_lake if request.labelled_alone else with_likes
        return said(lake, deployment, scored)
    return with_labels(lake, deployment, scored, labels)


def _scores(table: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    if column not in table.columns:
        raise CalibrationError(f"there is no column {column!r} to compare with; it has {', '.join(table.columns)}")
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)


def _print(title: str, shown: CalibrationReport) -> None:
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
