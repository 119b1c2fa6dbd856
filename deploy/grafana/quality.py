"""Rows of the dashboard about quality: the alerts that fire by tier, and the scores."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import heatmap, table
from grafana_foundation_sdk.builders.common import TableSortByFieldState
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana.expressions import (
    AT,
    DEPLOYMENT,
    INTERVAL,
    STREAM,
    WORST,
    Query,
    alone,
    first,
    first_and_others,
    highest,
    tier_of_stream,
)
from deploy.grafana.panels import SOURCE, chart, dashes, number, row_links, states, target, to_incidents

_BY = "deployment, metric"
_NAME = "{{deployment}} {{metric}}"
_FIRING = 'max by (deployment, metric, tier, incident) (dialwatch_alert_firing{deployment=~"$deployment"})'


def add_alerts(board: build.Dashboard) -> None:
    """Add the row of what fires now: how many at each tier, which, and where they are told."""
    board.with_row(build.Row("Alerts"))
    for tier, colour, text in (
        ("page", "red", "Alerts that fire and wake somebody: regressions beyond doubt, and exceeded limits."),
        ("warning", "orange", "Alerts that fire and wake nobody."),
    ):
        board.with_panel(
            number(
                f"At the tier {tier}",
                text,
                f'count(dialwatch_alert_firing{{deployment=~"$deployment", tier="{tier}"}}) or vector(0)',
                colour,
            ).links([to_incidents()])
        )
    board.with_panel(_firing())
    board.with_panel(
        states(
            "Regressions by tier",
            "By their evidence. Those that page first, then those that warn, then what changed most.",
            Query(
                first(tier_of_stream(), _BY, WORST),
                _NAME,
            ),
            {"0": ("ok", "green"), "1": ("warning", "orange"), "2": ("page", "red")},
            width=24,
        )
    )


def _firing() -> table.Panel:
    """A table of the alerts that fire, those that page first."""
    labels = "deployment, metric, tier, incident"
    order = f'1 + ({_FIRING} and on ({labels}) dialwatch_alert_firing{{tier="page"}}) or {_FIRING}'
    shown = first(_FIRING, labels, order)
    of_shown = f"and on ({_BY}) ({shown})"
    queries = {
        "A": shown,
        "B": f"max by ({_BY}) (dialwatch_score_mean{{{STREAM}}}) {of_shown}",
        "C": f"max by ({_BY}) (dialwatch_score_reference_mean{{{STREAM}}}) {of_shown}",
        "D": f"1000 * max by ({_BY}) (dialwatch_regression_since_timestamp_seconds{{{STREAM}}}) {of_shown}",
    }
    tiers = model.ValueMap(
        options={
            "page": model.ValueMappingResult(color="red", index=0),
            "warning": model.ValueMappingResult(color="orange", index=1),
        }
    )
    names = {"Value #B": "mean", "Value #C": "reference", "Value #D": "since"}
    order_of = {name: index for index, name in enumerate(("tier", "deployment", "metric", *names, "incident"))}
    layout = {"excludeByName": {"Time": True, "Value #A": True}, "indexByName": order_of, "renameByName": names}
    panel = (
        table.Panel()
        .title("What fires")
        .description(
            "Each alert with its tier; the links of a cell lead to its incident, its deployment and its answers."
        )
        .datasource(SOURCE)
        .span(16)
        .height(10)
        .sort_by([TableSortByFieldState().display_name("tier")])
        .with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(model.DataTransformerConfig(id_val="organize", options=layout))
        .override_by_name(
            "tier",
            [
                model.DynamicConfigValue("mappings", [tiers]),
                model.DynamicConfigValue("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
            ],
        )
        .override_by_regexp("/^(mean|reference)$/", [model.DynamicConfigValue("unit", "percentunit")])
        .override_by_name("since", [model.DynamicConfigValue("unit", "dateTimeAsIso")])
    )
    panel.override_by_regexp("/.*/", [model.DynamicConfigValue("links", row_links())])
    for ref_id, expression in queries.items():
        panel.with_target(target(expression, "", ref_id).format(PromQueryFormat.TABLE).instant())
    return panel


def add_scores(board: build.Dashboard) -> None:
    """Add the row of scores: where they stand, and how sure that is."""
    board.with_row(build.Row("Quality"))
    mean, reference = f"dialwatch_score_mean{{{STREAM}}}", f"dialwatch_score_reference_mean{{{STREAM}}}"
    board.with_panel(
        chart(
            "Mean score",
            "Weighted mean of the latest conversations. With one deployment also the reference it is held against; "
            "the page of the deployment has the interval.",
            [
                *first_and_others(mean, _BY, WORST, f"{_NAME} mean"),
                Query(alone(reference), f"{_NAME} reference"),
            ],
            "percentunit",
            width=12,
        )
        .min(0)
        .max(1)
        .override_by_regexp("/ reference$/", [dashes(10)])
    )
    board.with_panel(
        chart(
            "Change against the reference",
            "Mean less reference, in the metric's own units.",
            first_and_others(f"{mean} - {reference}", _BY, WORST, _NAME),
            "percentunit",
            width=12,
        )
    )
    board.with_panel(_score_heatmap())
    board.with_panel(
        chart(
            "Worst tenth of new answers",
            "A tenth of the new answers of all deployments lies below it, by metric.",
            [Query(_quantile(0.1), "{{metric}} 10 %"), Query(_quantile(0.5), "{{metric}} 50 %")],
            "percentunit",
            width=12,
        )
    )
    labels = "deployment, verdict"
    fired = f"sum by ({labels}) (dialwatch_regressions_total{{{DEPLOYMENT}}}{AT})"
    board.with_panel(
        chart(
            "Regressions fired",
            "Of all metrics, since the first one, by what is held to have changed: system, judge, both or undecided.",
            highest(fired, labels, "{{deployment}} {{verdict}}", others="sum"),
            "short",
        )
    )


_METRIC = 'metric=~"$metric"'


def _quantile(share: float) -> str:
    buckets = f"sum by (metric, le) (increase(dialwatch_all_scores_bucket{{{_METRIC}}}[{INTERVAL}]))"
    return f"histogram_quantile({share}, {buckets})"


def _score_heatmap() -> heatmap.Panel:
    expression = f"sum by (le) (increase(dialwatch_all_scores_bucket{{{_METRIC}}}[{INTERVAL}]))"
    return (
        heatmap.Panel()
        .title("Scores of new answers")
        .description(
            "How many answers of all deployments got which score. A mark is the worst of the latest; it leads to it."
        )
        .datasource(SOURCE)
        .span(12)
        .height(10)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
        .with_target(target(expression, "{{le}}", "A").format(PromQueryFormat.HEATMAP).exemplar(True))
    )
