"""The command `dialwatch thresholds`: limits of time and price that fit each deployment, from its own first weeks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.options import ConfigOption, LakeOption, open_filled, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

    from lake.tables.lake import Lake

_METRICS = {"latency_over": ("duration_ms", 1000.0), "cost_over": ("price", 1.0)}
"""Metrics by the column that they read, and how much of it is one of the limit."""
_WEEKS = timedelta(days=14)
_LEAST_ANSWERS = 200
_EXCEEDED_BY = 0.05
"""Share of the answers that may exceed a limit: one that none exceeds finds a small change late, or never."""


def thresholds(
    deployment: Annotated[
        list[str] | None, typer.Option(help="This one alone; may be given again for more. Without it all.")
    ] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Propose limits for latency_over and cost_over, from the first two weeks of each deployment's answers.

    About one answer in twenty exceeds a proposed limit. Nothing is watched by them until they are in
    `evaluator.deployments`.
    """
    opened = open_filled(settings_of(config, lake))
    names = [name for name in opened.deployments() if name is not None]
    for name in deployment or ():
        if name not in names:
            raise ConfigError(f"the lake has no deployment {name!r}")
    found = {name: list(_proposed(opened, name)) for name in deployment or names}
    rows = [
        (name, metric, f"{share:.1%}", f"{count:,}") for name, some in found.items() for metric, share, count in some
    ]
    if not rows:
        typer.echo(f"no deployment has times or prices of {_LEAST_ANSWERS} answers in its first two weeks")
        return
    print_list(("deployment", "metric", "exceeded by", "of answers"), rows)
    typer.echo("\nAdd those that you want to evaluator.metrics, or to the deployment's own metrics:")
    for name, some in found.items():
        if some:
            typer.echo(f"  {name}: {', '.join(metric for metric, _, _ in some)}")


def _proposed(lake: Lake, deployment: str) -> Iterator[tuple[str, float, int]]:
    """Yield metrics with their limit, the share of answers that exceed it, and how many answers that is of."""
    import numpy as np

    answers = _first_answers(lake, deployment)
    for metric, (column, unit) in _METRICS.items():
        values = answers[column].drop_null().to_numpy().astype(np.float64) / unit
        values = values[np.isfinite(values)]
        if len(values) >= _LEAST_ANSWERS and (limit := _rounded_up(float(np.quantile(values, 1 - _EXCEEDED_BY)))):
            yield f"{metric}@{limit:g}", float((values > limit).mean()), len(values)


def _first_answers(lake: Lake, deployment: str) -> pa.Table:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from lake.queries.answer_rows import IS_ANSWER
    from lake.spec.schemas import PARSED_LOGS
    from lake.spec.table_spec import TIMESTAMP

    table = lake.table(PARSED_LOGS, deployment)
    columns = ["requested_at", *(column for column, _ in _METRICS.values())]
    first = pc.min(table.read(["requested_at"], IS_ANSWER)["requested_at"]).as_py()
    if first is None:
        return PARSED_LOGS.schema.empty_table().select(columns)
    import pyarrow as pa

    until = pa.scalar(first + _WEEKS, TIMESTAMP)
    return table.read(columns, IS_ANSWER & (ds.field("requested_at") < until))


def _rounded_up(value: float) -> float:
    """Return the least number of two digits that is as large; 0 for 0, which is no limit."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")
