"""The Grafana dashboard in Python; `python -m deploy.grafana.dashboard` writes dialwatch.json anew."""

from __future__ import annotations

import json
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import heatmap, stat, statetimeline
from grafana_foundation_sdk.builders.common import ReduceDataOptions
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana.panels import SOURCE, chart, choice, dashes, pages_address, target
from lake import Origin, Signal

PATH = Path(__file__).with_name("dialwatch.json")

DEPLOYMENT = 'deployment=~"$deployment"'
PEOPLE = f'{DEPLOYMENT}, origin="{Origin.PRODUCTION}"'
STREAM = 'deployment=~"$deployment", metric=~"$metric"'
INTERVAL = "$__rate_interval"


def dashboard_json() -> str:
    """Give the dashboard as Grafana imports it."""
    return json.dumps(dashboard(), cls=JSONEncoder, sort_keys=True, indent=2) + "\n"


def dashboard() -> model.Dashboard:
    """Build the dashboard: quality first, then people, traffic, and dialwatch itself."""
    board = (
        build.Dashboard("dialwatch: quality of DIAL applications")
        .uid("dialwatch")
        .description("Scores, regressions, ratings and traffic of the deployments behind DIAL.")
        .tags(["dial", "llm", "quality"])
        .time("now-24h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .with_variable(build.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(choice("deployment", "Deployment", "label_values(dialwatch_responses_total, deployment)"))
        .with_variable(choice("metric", "Metric", "label_values(dialwatch_score_mean, metric)"))
        .with_variable(pages_address())
    )
    _quality(board)
    _people(board)
    _traffic(board)
    _limits_and_judges(board)
    _pipeline(board)
    return board.build()


def _quality(board: build.Dashboard) -> None:
    board.with_row(build.Row("Quality"))
    board.with_panel(_active_regressions())
    board.with_panel(
        chart(
            "Mean score",
            "Weighted mean of the latest conversations with its 95 % interval, and the reference it is held against.",
            [
                (f"dialwatch_score_mean{{{STREAM}}}", "{{deployment}} {{metric}} mean"),
                (f"dialwatch_score_mean_lower{{{STREAM}}}", "{{deployment}} {{metric}} lower"),
                (f"dialwatch_score_mean_upper{{{STREAM}}}", "{{deployment}} {{metric}} upper"),
                (f"dialwatch_score_reference_mean{{{STREAM}}}", "{{deployment}} {{metric}} reference"),
            ],
            "percentunit",
            width=19,
        )
        .min(0)
        .max(1)
        .override_by_regexp("/ (lower|upper)$/", [dashes(2), model.DynamicConfigValue("custom.lineWidth", 1)])
        .override_by_regexp("/ reference$/", [dashes(10)])
    )
    board.with_panel(_score_heatmap())
    board.with_panel(
        chart(
            "Score quantiles",
            "Below the 10 % line lies the worst tenth of the new answers.",
            [
                (
                    f"histogram_quantile({quantile}, sum by (deployment, metric, le) "
                    f"(increase(dialwatch_score_bucket{{{STREAM}}}[{INTERVAL}])))",
                    f"{{{{deployment}}}} {{{{metric}}}} {int(quantile * 100)} %",
                )
                for quantile in (0.1, 0.5, 0.9)
            ],
            "percentunit",
            width=12,
        )
    )
    board.with_panel(_regression_states())
    board.with_panel(
        chart(
            "Evidence of a regression",
            "Natural logarithm. A regression fires as a warning when the evidence reaches its threshold, and pages at "
            "the higher one.",
            [
                (f"dialwatch_regression_log_evidence{{{STREAM}}}", "{{deployment}} {{metric}} evidence"),
                (f"dialwatch_regression_log_threshold{{{STREAM}}}", "{{deployment}} {{metric}} threshold"),
                (f"dialwatch_regression_log_page_threshold{{{STREAM}}}", "{{deployment}} {{metric}} page threshold"),
            ],
            "none",
            width=12,
        ).override_by_regexp("/ threshold$/", [dashes(10)])
    )
    board.with_panel(
        chart(
            "Conversations behind the mean",
            "Few conversations make a wide interval.",
            [(f"dialwatch_score_window_observations{{{STREAM}}}", "{{deployment}} {{metric}}")],
            "short",
            width=12,
        )
    )
    board.with_panel(
        chart(
            "Regressions fired",
            "Since the first one, by what is held to have changed: system, judge, both or undecided.",
            [
                (
                    f"sum by (deployment, metric, verdict) (dialwatch_regressions_total{{{STREAM}}})",
                    "{{deployment}} {{metric}} {{verdict}}",
                )
            ],
            "short",
            width=12,
        )
    )


def _people(board: build.Dashboard) -> None:
    board.with_row(build.Row("People"))
    signals = f"increase(dialwatch_signals_total{{{DEPLOYMENT}}}[1h])"
    rated = f'increase(dialwatch_signals_total{{{DEPLOYMENT}, signal=~"{Signal.LIKE}|{Signal.DISLIKE}"}}[1h])'
    disliked = f'increase(dialwatch_signals_total{{{DEPLOYMENT}, signal="{Signal.DISLIKE}"}}[1h])'
    board.with_panel(
        chart(
            "Signals an hour",
            "Likes, dislikes and other signs of what people thought of an answer.",
            [(f"sum by (deployment, signal) ({signals})", "{{deployment}} {{signal}}")],
            "short",
            width=12,
        )
    )
    board.with_panel(
        chart(
            "Share of dislikes",
            "Of the ratings of the last hour.",
            [(f"sum by (deployment) ({disliked}) / sum by (deployment) ({rated})", "{{deployment}}")],
            "percentunit",
            width=12,
        )
        .min(0)
        .max(1)
    )


def _traffic(board: build.Dashboard) -> None:
    board.with_row(build.Row("Traffic"))
    board.with_panel(
        chart(
            "Responses",
            "A second, by HTTP status, of people alone, without evaluations and tests. Calls that applications make to "
            "models are counted at the model.",
            [
                (
                    f"sum by (deployment, status) (rate(dialwatch_responses_total{{{PEOPLE}}}[{INTERVAL}]))",
                    "{{deployment}} {{status}}",
                )
            ],
            "reqps",
            width=6,
            stacked=True,
        )
    )
    board.with_panel(
        chart(
            "Tokens",
            "A second, those of evaluations and tests too. An application's tokens include those of the models it "
            "calls.",
            [
                (
                    f"sum by (deployment, direction) (rate(dialwatch_tokens_total{{{DEPLOYMENT}}}[{INTERVAL}]))",
                    "{{deployment}} {{direction}}",
                )
            ],
            "short",
            width=6,
        )
    )
    board.with_panel(
        chart(
            "Cost an hour",
            "Price of each deployment's own calls, those of evaluations and tests too, in the currency of DIAL's price "
            "table. Nothing is counted twice.",
            [(f"sum by (deployment) (increase(dialwatch_cost_total{{{DEPLOYMENT}}}[1h]))", "{{deployment}}")],
            "short",
            width=6,
            stacked=True,
        )
    )
    board.with_panel(
        chart(
            "Cost of answers an hour",
            "Price of each deployment's answers with all calls that these took, in the currency of DIAL's price table: "
            "what an application costs. A model's part is in the other chart too.",
            [
                (
                    f"sum by (deployment, origin) (increase(dialwatch_entry_cost_total{{{DEPLOYMENT}}}[1h]))",
                    "{{deployment}} {{origin}}",
                )
            ],
            "short",
            width=6,
            stacked=True,
        )
    )


def _limits_and_judges(board: build.Dashboard) -> None:
    board.with_row(build.Row("Limits and judges"))
    charts = [
        (
            "Plain limits",
            "Errors, empty answers, refusals and failed evaluations, of their limits: at 100 % someone is woken.",
            [
                (
                    f"dialwatch_floor_share{{{DEPLOYMENT}}} / dialwatch_floor_limit{{{DEPLOYMENT}}}",
                    "{{deployment}} {{floor}}",
                )
            ],
            "percentunit",
        ),
        (
            "Cost of judges an hour",
            "In the currency of the judges' prices.",
            [("sum by (judge) (increase(dialwatch_judge_cost_total[1h]))", "{{judge}}")],
            "short",
        ),
        (
            "Left of the judges' budgets",
            "Of the UTC day. At 0 a judge is not asked any more.",
            [("dialwatch_judge_budget_remaining", "{{judge}}")],
            "short",
        ),
        (
            "Judges on the same answers",
            "By how much a judge scores its anchors higher than at first: a judge that changes moves away from 0.",
            [(f"dialwatch_judge_drift{{{STREAM}}}", "{{deployment}} {{metric}}")],
            "none",
        ),
    ]
    for title, description, queries, unit in charts:
        board.with_panel(chart(title, description, queries, unit, width=6))


def _pipeline(board: build.Dashboard) -> None:
    board.with_row(build.Row("dialwatch"))
    charts = [
        (
            "Log lines",
            "A second, by outcome; the outcomes add up to all lines that the collector was handed.",
            [(f"sum by (outcome) (rate(dialwatch_lines_total[{INTERVAL}]))", "{{outcome}}")],
            "cps",
        ),
        (
            "Rejected lines an hour",
            "By reason. Their bytes are in the lake's table _rejected.",
            [("sum by (reason) (increase(dialwatch_rejected_lines_total[1h]))", "{{reason}}")],
            "short",
        ),
        (
            "Collector's lag",
            "From the newest request of the latest batch to the batch's commit.",
            [("dialwatch_collector_lag_seconds", "lag")],
            "s",
        ),
        (
            "Evaluations an hour",
            "Answers scored, and why others were not.",
            [
                ("sum(increase(dialwatch_evaluations_total[1h]))", "all"),
                ("sum by (reason) (increase(dialwatch_evaluation_skips_total[1h]))", "no score: {{reason}}"),
            ],
            "short",
        ),
        (
            "Age of the latest scores",
            "Grows while a deployment has no traffic, or the evaluator is down.",
            [(f"time() - dialwatch_evaluation_last_success_timestamp_seconds{{{DEPLOYMENT}}}", "{{deployment}}")],
            "s",
        ),
        (
            "Parts of dialwatch",
            "1 where a part is at work, 0 where it fails or gives no heartbeat any more.",
            [("min by (part, host) (dialwatch_part_healthy)", "{{part}} {{host}}")],
            "none",
        ),
        (
            "Webhooks an hour",
            "Delivered, and given up.",
            [("sum by (outcome) (increase(dialwatch_webhook_deliveries_total[1h]))", "{{outcome}}")],
            "short",
        ),
    ]
    for title, description, queries, unit in charts:
        board.with_panel(chart(title, description, queries, unit))


def _active_regressions() -> stat.Panel:
    thresholds = build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE)
    return (
        stat.Panel()
        .title("Active regressions")
        .description(
            "Pairs of deployment and metric whose mean score is below its reference now, and those of them whose "
            "evidence is enough to wake someone."
        )
        .datasource(SOURCE)
        .span(5)
        .height(8)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(thresholds.steps([model.Threshold(color="green"), model.Threshold(value=1, color="red")]))
        .with_target(target(f"sum(dialwatch_regression_active{{{STREAM}}})", "regressions", "A"))
        .with_target(target(f"sum(dialwatch_regression_page{{{STREAM}}})", "that page", "B"))
    )


def _score_heatmap() -> heatmap.Panel:
    expression = f"sum by (le) (increase(dialwatch_score_bucket{{{STREAM}}}[{INTERVAL}]))"
    return (
        heatmap.Panel()
        .title("Scores of new answers")
        .description("How many answers got which score.")
        .datasource(SOURCE)
        .span(12)
        .height(8)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
        .with_target(target(expression, "{{le}}", "A").format(PromQueryFormat.HEATMAP).exemplar(True))
    )


def _regression_states() -> statetimeline.Panel:
    states = model.ValueMap(
        options={
            "0": model.ValueMappingResult(text="ok", color="green"),
            "1": model.ValueMappingResult(text="worse", color="orange"),
            "2": model.ValueMappingResult(text="worse, page", color="red"),
        }
    )
    return (
        statetimeline.Panel()
        .title("Regressions over time")
        .datasource(SOURCE)
        .span(12)
        .height(8)
        .mappings([states])
        .with_target(
            target(
                f"dialwatch_regression_active{{{STREAM}}} + dialwatch_regression_page{{{STREAM}}}",
                "{{deployment}} {{metric}}",
                "A",
            )
        )
    )


if __name__ == "__main__":
    PATH.write_text(dashboard_json(), encoding="utf-8")
