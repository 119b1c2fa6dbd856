"""Row of the dashboard about dialwatch itself: from the log line to the message."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build

from deploy.grafana.expressions import AT, DEPLOYMENT, INTERVAL, Query, first, highest
from deploy.grafana.panels import chart, number, states, to_overview

_SCORED = f"max by (deployment) (dialwatch_evaluation_last_success_timestamp_seconds{{{DEPLOYMENT}}}{AT})"
_HEALTHY = "min by (part, host) (dialwatch_part_healthy)"
_FAILING = "-min by (part, host) (dialwatch_part_healthy @ end())"
_NUMBERS = (
    (
        "Lines unaccounted for",
        "Log lines that became nothing that the collector counts; anything but 0 is a defect.",
        "max(dialwatch_unaccounted_lines)",
        "red",
    ),
    (
        "Parts that fail",
        "Collector, evaluator, upkeep, webhooks or monitor: fail, or give no heartbeat.",
        "count(dialwatch_part_healthy == 0) or vector(0)",
        "red",
    ),
    (
        "Receivers that are gone",
        "Answered 410 and get nothing more.",
        "sum(dialwatch_webhook_disabled) or vector(0)",
        "red",
    ),
    (
        "Deployments without a receiver",
        "No receiver in monitor.webhooks is for them.",
        "max(dialwatch_deployments_without_receiver) or vector(0)",
        "orange",
    ),
    (
        "Alerts without a receiver",
        "Fire, and no receiver in monitor.webhooks is for their deployment.",
        "max(dialwatch_alerts_without_receiver) or vector(0)",
        "red",
    ),
    (
        "Failures of the monitor an hour",
        "Steps of its looks at the lake that failed; its log says more.",
        "round(sum(increase(dialwatch_monitor_failures_total[1h]))) or vector(0)",
        "orange",
    ),
)


def add_pipeline(board: build.Dashboard) -> None:
    """Add the row."""
    board.with_row(build.Row("Pipeline"))
    for title, description, expression, colour in _NUMBERS:
        board.with_panel(number(title, description, expression, colour).links([to_overview()]))
    board.with_panel(
        states(
            "Parts of dialwatch",
            "By the host that each runs on; those that fail first.",
            Query(first(_HEALTHY, "part, host", _FAILING), "{{part}} {{host}}"),
            {"0": ("fails", "red"), "1": ("works", "green")},
        )
    )
    board.with_panel(
        chart(
            "Age of the last success of each part",
            "A part that is well notes a success every few seconds or minutes.",
            [Query("time() - max by (part) (dialwatch_part_last_success_timestamp_seconds)", "{{part}}")],
            "s",
            width=12,
        )
    )
    charts = (
        (
            "Log lines",
            "A second, by outcome; the outcomes add up to all lines that the collector was handed.",
            [Query(f"sum by (outcome) (rate(dialwatch_lines_total[{INTERVAL}]))", "{{outcome}}")],
            "cps",
        ),
        (
            "Collector's lag",
            "From the newest request of the latest batch to the batch's commit, and how old the last commit is.",
            [
                Query("max(dialwatch_collector_lag_seconds)", "lag"),
                Query("time() - max(dialwatch_collector_last_commit_timestamp_seconds)", "age of the last commit"),
            ],
            "s",
        ),
        (
            "Messages of Kafka that wait",
            "For the collectors, by topic.",
            [Query("sum by (topic) (dialwatch_collector_lag_messages)", "{{topic}}")],
            "short",
        ),
        (
            "Evaluations an hour",
            "Answers scored, and why others were not.",
            [
                Query("sum(increase(dialwatch_evaluations_total[1h]))", "all"),
                Query("sum by (reason) (increase(dialwatch_evaluation_skips_total[1h]))", "no score: {{reason}}"),
            ],
            "short",
        ),
        (
            "Age of the latest scores",
            "Grows while a deployment has no traffic, or the evaluator is behind or down. The oldest.",
            highest(f"time() - {_SCORED}", "deployment", "{{deployment}}", order=f"-{_SCORED}"),
            "s",
        ),
        (
            "Evaluator's passes",
            "How long the last one took, and how long ago it was; of evaluators with metrics of their own.",
            [
                Query("max(dialwatch_evaluator_pass_duration_seconds)", "duration"),
                Query("max(dialwatch_evaluator_pass_age_seconds)", "age"),
            ],
            "s",
        ),
        (
            "Monitor's looks at the lake",
            "How long the last one took, and how long ago it was.",
            [
                Query("max(dialwatch_monitor_refresh_duration_seconds)", "duration"),
                Query("max(dialwatch_monitor_refresh_age_seconds)", "age"),
            ],
            "s",
        ),
        (
            "Requests to the store",
            "A second, by kind, of which each has its price. A folder has none.",
            [Query(f"sum by (kind) (rate(dialwatch_store_requests_total[{INTERVAL}]))", "{{kind}}")],
            "reqps",
        ),
        (
            "Webhooks an hour",
            "By what became of them: undeliverable ones were given up, failed ones are tried again.",
            [Query("sum by (outcome) (increase(dialwatch_webhook_deliveries_total[1h]))", "{{outcome}}")],
            "short",
        ),
    )
    for title, description, queries, unit in charts:
        board.with_panel(chart(title, description, queries, unit))
