"""The command `dialwatch judge calibrate`: how far a judge can be trusted."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch import __version__
from dialwatch.commands.options import NO_LAKE, ConfigOption, LakeOption, settings_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from dialwatch.config import Settings
    from dialwatch.reports.calibration_report import CalibrationReport
    from evaluator.calibration import AskedJudge, BestThreshold, RepeatedScores
    from evaluator.settings import EvaluatorSettings
    from lake.tables.lake import Lake

_BOOLEANS = {"true": True, "false": False}

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
    write: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Write the best threshold into --config, as the combination NAME of the metric."
        ),
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
    if write is not None and config is None:
        raise typer.BadParameter("--write needs --config: the file that gets the threshold")
    needs_settings = ask_times or deployment is not None
    settings = settings_of(config, NO_LAKE if deployment is None else lake) if needs_settings else None
    request = _Request(labels, deployment, metric, ask_times, compare, threshold, labelled)
    best = _calibrate(request, settings, html or page)
    if write is not None and config is not None:
        _write_threshold(config, write, request, best)


@dataclass(frozen=True)
class _Request:
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


def _calibrate(request: _Request, settings: Settings | None, page: Path | None) -> BestThreshold | None:
    """Compare scores with labels, print what was found, and write it as a page too where one is asked for.

    Returns the best threshold.
    `settings` are needed where a judge is asked or a deployment's scores are read. Raises CalibrationError.
    """
    from dialwatch.reports.calibration_report import report
    from evaluator.calibration import PASS_THRESHOLD, calibrate, who_scored

    table = None if request.labels is None else _read(request.labels)
    asked: list[RepeatedScores] = []
    judges: list[AskedJudge] = []
    compare = request.compare
    if request.ask_times and table is not None and settings is not None:
        asked.append(_asked(settings.evaluator, request.metric, table, request.ask_times))
        table = table.assign(score=asked[0].scores)
        if compare is not None and compare not in table.columns:
            asked.append(_asked(settings.evaluator, compare, table, 1))
            table[compare] = asked[1].scores
    if request.deployment is not None and settings is not None:
        table = _of_deployment(settings.lake.open(), request.deployment, request, table)
        names = [name for name in (request.metric, compare) if name is not None]
        judges = [who_scored(settings.lake.open(), request.deployment, name) for name in names]
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
    shown = report(found, compare, threshold, [*(one.judge for one in asked), *judges])
    _print(request.title, shown)
    if asked:
        _print_asked(asked)
    if page is not None:
        _write_page(page, request.title, shown)
    return found.best


def _write_threshold(config: Path, name: str, request: _Request, best: BestThreshold | None) -> None:
    """Set the combination `name`, which is 1 where the metric is at least the best threshold, in the configuration."""
    from dialwatch.config_change import set_key
    from evaluator.calibration import CalibrationError
    from evaluator.own_metrics import CombinationSettings, checked_combinations

    if best is None or best.threshold.value is None:
        raise CalibrationError("no threshold is written: all labels or all scores are the same")
    made = CombinationSettings(weights={request.metric: 1}, threshold=float(f"{best.threshold.value:.6g}"))
    try:
        checked_combinations({name: made}, settings_of(config, NO_LAKE).evaluator.aspects)
    except ValueError as error:
        raise CalibrationError(f"no threshold is written: {error}") from None
    value = f"{{weights: {{{request.metric}: 1}}, threshold: {made.threshold}}}"
    set_key(config, ["evaluator", "combinations", name], value)
    typer.echo(f"{config}: evaluator.combinations.{name} is {value}; name it in evaluator.metrics to have it scored")


def _read(path: Path) -> pd.DataFrame:
    from evaluator.calibration import CalibrationError
    from evaluator.datasets import DatasetError, read_dataset

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
    import jinja2

    from dialwatch.lake_access import usual_permissions

    environment = jinja2.Environment(loader=jinja2.PackageLoader("dialwatch.reports"), autoescape=True)
    text = environment.get_template("calibration.html").render(title=title, report=shown, version=__version__)
    with usual_permissions():
        page.write_text(text, encoding="utf-8")
    typer.echo(f"written to {page}")


def _asked(settings: EvaluatorSettings, name: str, table: pd.DataFrame, times: int) -> RepeatedScores:
    from evaluator.calibration import CalibrationError, ask
    from evaluator.judge_binding import judges_of
    from evaluator.metrics import MissingColumnError
    from evaluator.metrics.combination import Combination
    from evaluator.metrics.ensemble import Ensemble
    from evaluator.metrics.llm.llm_metric import LlmMetric
    from evaluator.service.judge_pool import JudgePool

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


def _of_deployment(lake: Lake, deployment: str, request: _Request, labels: pd.DataFrame | None) -> pd.DataFrame:
    from evaluator.calibration import scored_answers, with_labels, with_labels_of_lake, with_likes

    scored = scored_answers(lake, deployment, request.metric)
    if request.compare is not None:
        other = scored_answers(lake, deployment, request.compare)[["event_id", "score"]]
        scored = scored.merge(other.rename(columns={"score": request.compare}), on="event_id", how="left")
    if labels is None:
        said = with_labels_of_lake if request.labelled_alone else with_likes
        return said(lake, deployment, scored)
    return with_labels(lake, deployment, scored, labels)


def _scores(table: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    import numpy as np
    import pandas as pd

    from evaluator.calibration import CalibrationError

    if column not in table.columns:
        raise CalibrationError(f"there is no column {column!r} to compare with; it has {', '.join(table.columns)}")
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)


def _print(title: str, shown: CalibrationReport) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

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
