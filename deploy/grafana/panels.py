"""Parts of the dashboard that are alike: time series charts, queries, variables and dashed lines."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, timeseries
from grafana_foundation_sdk.builders.common import StackingConfig, VizLegendOptions
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, StackingMode

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")

_PAGES = "${dialwatch}"
_DEPLOYMENT, _METRIC = (f"${{__field.labels.{name}:percentencode}}" for name in ("deployment", "metric"))
_PERIOD = "since=${__from:date:YYYY-MM-DD}&until=${__to:date:YYYY-MM-DD}"

Query = tuple[str, str]
"""An expression and the legend of its series."""


def chart(
    title: str, description: str, queries: list[Query], unit: str, width: int = 8, stacked: bool = False
) -> timeseries.Panel:
    """A time series chart with a legend below; `stacked` puts the series on top of each other.

    A series of a deployment leads to its page, and to its answers: of a metric to those with the lowest scores.
    """
    legend = VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM).show_legend(True)
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(8)
        .legend(legend)
        .fill_opacity(30 if stacked else 0)
        .stacking(StackingConfig().mode(StackingMode.NORMAL if stacked else StackingMode.NONE))
        .data_links(_links([name for _, name in queries]))
    )
    for number, (expression, name) in enumerate(queries):
        panel.with_target(target(expression, name, "ABCDEFGH"[number]))
    return panel


def _links(legends: list[str]) -> list[Builder[model.DashboardLink]]:
    """Give links for series of which every legend names a deployment, and maybe a metric."""
    if not all("{{deployment}}" in legend for legend in legends):
        return []
    answers = f"{_PAGES}/answers?deployment={_DEPLOYMENT}&{_PERIOD}"
    if all("{{metric}}" in legend for legend in legends):
        answers += f"&metric={_METRIC}&sort={_METRIC}&order=asc"
    return [
        build.DashboardLink("Deployment in dialwatch").url(f"{_PAGES}/deployment?name={_DEPLOYMENT}"),
        build.DashboardLink("Answers in dialwatch").url(answers),
    ]


def pages_address() -> build.TextBoxVariable:
    """A variable with the address of dialwatch's pages, as browsers reach them."""
    return build.TextBoxVariable("dialwatch").label("dialwatch").default_value("http://localhost:9464")


def target(expression: str, legend: str, ref_id: str) -> prometheus.Dataquery:
    """A Prometheus query of a panel."""
    return prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(ref_id)


def choice(name: str, label: str, query: str) -> build.QueryVariable:
    """A variable of several values; `.*` for all, since a list of a thousand deployments makes too long a query."""
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(model.VariableOption(text="All", value="$__all"))
    )


def dashes(length: int) -> model.DynamicConfigValue:
    """The style of a dashed line, for an override."""
    return model.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [length, length]})
