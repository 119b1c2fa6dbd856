"""Parts of the dashboard that are alike: time series charts, queries, variables and dashed lines."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, timeseries
from grafana_foundation_sdk.builders.common import StackingConfig, VizLegendOptions
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, StackingMode

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")

Query = tuple[str, str]
"""An expression and the legend of its series."""


def chart(
    title: str, description: str, queries: list[Query], unit: str, width: int = 8, stacked: bool = False
) -> timeseries.Panel:
    """A time series chart with a legend below; `stacked` puts the series on top of each other."""
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
    )
    for number, (expression, name) in enumerate(queries):
        panel.with_target(target(expression, name, "ABCDEFGH"[number]))
    return panel


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
