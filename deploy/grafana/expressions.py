"""PromQL of the dashboard: which series a panel shows, and what it says of the others.

A panel shows the `$most` series that stand first in an order, or all where one deployment is chosen. The order is that
at the end of the period (`@ end()`), so that no series comes and goes within it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

INSTALLATION = 'installation="$installation"'
DEPLOYMENT = 'deployment=~"$deployment"'
STREAM = 'deployment=~"$deployment", metric=~"$metric"'
INTERVAL = "$__rate_interval"
AT = "<at>"
"""Where a modifier of time goes: behind each selector of an expression that is ordered by its own values."""

_IS_ONE = f"count(group by (deployment) (dialwatch_responses_total{{{DEPLOYMENT}}} @ end())) == 1"


def of_installation(expression: str) -> str:
    """The expression with every selector limited to the chosen installation."""
    chosen = re.sub(r"\b(dialwatch_\w+)(?!\w|\{)", rf"\1{{{INSTALLATION}}}", expression)
    return re.sub(rf"\b(dialwatch_\w+)\{{(?!{re.escape(INSTALLATION)})", rf"\1{{{INSTALLATION}, ", chosen)


class Query(NamedTuple):
    """An expression and the legend of its series."""

    expression: str
    legend: str


def alone(expression: str) -> str:
    """The expression where one deployment is chosen; nothing where several are."""
    return f"({expression}) and on () ({_IS_ONE})"


def first(expression: str, by: str, order: str) -> str:
    """The series of an expression that stand first in an order, which has the labels `by`; all of one deployment."""
    return f"({expression}) and on ({by}) {_first(order)} or {alone(expression)}"


def first_and_others(expression: str, by: str, order: str, legend: str, others: str = "median") -> list[Query]:
    """Those that stand first, and one series of all others: their `median` or their `sum`, with their number."""
    whole = {"median": "quantile(0.5, {})", "sum": "sum({})"}[others]
    rest = whole.format(f"({expression}) unless on ({by}) {_first(order)}")
    number = f'count_values("others", count({order}) - $most > 0 unless on () ({_IS_ONE}))'
    return [
        Query(first(expression, by, order), legend),
        Query(f"{number} * on () group_left () {rest}", f"{others} of {{{{others}}}} others"),
    ]


def changed(expression: str, by: str, legend: str, others: str = "median") -> list[Query]:
    """Those that changed most against a week ago, and the others; what was not there then has changed by all it is."""
    hourly = expression.replace(INTERVAL, "1h")  # a minute's traffic would give another order each minute
    now, before = hourly.replace(AT, " @ end()"), hourly.replace(AT, " @ end() offset 1w")
    order = f"abs(({now}) - (({before}) or 0 * ({now})))"
    return first_and_others(expression.replace(AT, ""), by, order, legend, others)


def highest(expression: str, by: str, legend: str, others: str = "median", order: str = "{}") -> list[Query]:
    """Those whose value at the end is the highest, and the others; `order` may turn the values into another order."""
    at_end = order.replace("{}", expression).replace(AT, " @ end()")
    return first_and_others(expression.replace(AT, ""), by, at_end, legend, others)


def _first(order: str) -> str:
    return f"topk($most, {order})"


def _at_end(name: str) -> str:
    return f"dialwatch_{name}{{{STREAM}}} @ end()"


def tier_of_stream(at: str = "") -> str:
    """Each stream's tier: 0, 1 where a regression warns, 2 where it pages; there is no series of what is not so."""
    active, page, mean = (
        f"dialwatch_{name}{{{STREAM}}}{at}" for name in ("regression_active", "regression_page", "score_mean")
    )
    return f"({active} + {page} or {active} or 0 * {mean})"


WORST = (
    f"max by (deployment, metric) (10 * {tier_of_stream(' @ end()')} + "
    f"(clamp_max(abs({_at_end('score_mean')} - {_at_end('score_reference_mean')}), 1) "
    f"or 0 * {tier_of_stream(' @ end()')}))"
)
"""An order of streams: regressions that page, then those that warn, then by the change against the reference."""
