"""Row of the dashboard about limits: those of quality, of judges and of labels, and what is at its limit."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build

from deploy.grafana.expressions import AT, DEPLOYMENT, STREAM, Query, first, first_and_others, highest
from deploy.grafana.panels import chart, states

_BY = "deployment, floor"
_NAME = "{{deployment}} {{floor}}"


def _share(at: str = "") -> str:
    return f"dialwatch_floor_share{{{DEPLOYMENT}}}{at} / dialwatch_floor_limit{{{DEPLOYMENT}}}{at}"


def _exceeded(at: str = "") -> str:
    """1 where a limit is exceeded, of which alone there is a series; 0 where its share is judged."""
    return f"(dialwatch_floor_active{{{DEPLOYMENT}}}{at} or 0 * dialwatch_floor_share{{{DEPLOYMENT}}}{at})"


_NEAREST = (
    f"max by ({_BY}) (10 * {_exceeded(' @ end()')} + "
    f"(clamp_max({_share(' @ end()')}, 1) or 0 * {_exceeded(' @ end()')}))"
)
"""An order: limits that are exceeded, then those that are nearest to it."""


def add_limits(board: build.Dashboard) -> None:
    """Add the row."""
    board.with_row(build.Row("Limits"))
    board.with_panel(
        states(
            "Limits",
            "Errors, empty answers, refusals, failed evaluations, silence and replays; an exceeded one pages. Exceeded "
            "ones first, then those whose share is nearest to it.",
            Query(first(_exceeded(), _BY, _NEAREST), _NAME),
            {"0": ("within", "green"), "1": ("exceeded", "red")},
        )
    )
    board.with_panel(
        chart(
            "Shares of their limits",
            "Bad requests, answers or evaluations, of the limit: at 100 % it is exceeded.",
            first_and_others(_share(), _BY, _NEAREST, _NAME),
            "percentunit",
            width=12,
        ).min(0)
    )
    drift = f"dialwatch_judge_drift{{{STREAM}}}{AT}"
    charts = (
        (
            "Limits that cannot be judged",
            "Of all deployments, those of which too little is known, as with too few requests; their pages say why.",
            [Query("max by (floor) (dialwatch_unjudged_floors)", "{{floor}}")],
            "short",
        ),
        (
            "Judges on the same answers",
            "By how much a judge scores its anchors higher than at first: a judge that changes moves away from 0.",
            highest(drift, "deployment, metric", "{{deployment}} {{metric}}", order="abs({})"),
            "none",
        ),
        (
            "Cost of judges an hour",
            "In the currency of the judges' prices.",
            highest(f"sum by (judge) (increase(dialwatch_judge_cost_total[1h]{AT}))", "judge", "{{judge}}", "sum"),
            "short",
        ),
        (
            "Left of the judges' budgets",
            "Of the UTC day, those with the least. At 0 a judge is not asked any more.",
            highest(f"min by (judge) (dialwatch_judge_budget_remaining{AT})", "judge", "{{judge}}", order="-{}"),
            "short",
        ),
        (
            "Labels at their bound",
            "Deployments, words of signals and status codes that are too many for series of their own and are summed "
            "as other: monitor.most_deployments, monitor.most_label_values.",
            [Query("max by (label) (dialwatch_other_label_values)", "{{label}}")],
            "short",
        ),
        (
            "Rejected lines an hour",
            "By reason, also those over a limit. Their bytes are in the lake's table _rejected.",
            [Query("sum by (reason) (increase(dialwatch_rejected_lines_total[1h]))", "{{reason}}")],
            "short",
        ),
    )
    for title, description, queries, unit in charts:
        board.with_panel(chart(title, description, queries, unit))
