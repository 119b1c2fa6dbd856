"""Parts of the dashboard that are alike: charts, stats, timelines of states, links, variables and dashed lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders.common import ReduceDataOptions, StackingConfig, VizLegendOptions
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, StackingMode

from deploy.grafana.expressions import Query, of_installation

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
PAGES = "${dialwatch:raw}"
"""Address of dialwatch's pages; `raw`, as any other format may change the slashes."""

_PERIOD = "since=${__from:date:YYYY-MM-DD}&until=${__to:date:YYYY-MM-DD}"
_REFS = "ABCDEFGH"


def chart(
    title: str, description: str, queries: Sequence[Query], unit: str, width: int = 8, stacked: bool = False
) -> timeseries.Panel:
    """A time series chart with a table below, the highest of now first; `stacked` puts series on top of each other.

    A series of a deployment leads to its page, and to its answers: of a metric to those with the lowest scores.
    """
    legend = VizLegendOptions().display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.BOTTOM)
    legend = legend.show_legend(True).calcs(["lastNotNull", "min", "max"]).sort_by("Last *").sort_desc(True)
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(10)
        .legend(legend)
        .fill_opacity(30 if stacked else 0)
        .stacking(StackingConfig().mode(StackingMode.NORMAL if stacked else StackingMode.NONE))
    )
    for ref_id, (expression, name) in zip(_REFS, queries, strict=False):
        panel.with_target(target(expression, name, ref_id))
        if links := _links("__field.labels", name):
            panel.override_by_query(ref_id, [model.DynamicConfigValue("links", links)])
        if "{{others}}" in name:
            panel.override_by_query(ref_id, [dashes(3), _grey()])
    if not any("{{deployment}}" in name for _, name in queries):
        panel.links([to_overview()])
    return panel


def number(title: str, description: str, expression: str, colour: str) -> stat.Panel:
    """A number that is green at 0, else of a colour."""
    steps = [model.Threshold(color="green"), model.Threshold(value=1, color=colour)]
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(4)
        .height(5)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps))
        .with_target(target(expression, title, "A"))
    )


def states(
    title: str, description: str, query: Query, words: Mapping[str, tuple[str, str]], width: int = 12
) -> statetimeline.Panel:
    """A timeline a series, in whose colours the values have the given words and colours."""
    mapping = model.ValueMap(
        options={value: model.ValueMappingResult(text=text, color=colour) for value, (text, colour) in words.items()}
    )
    panel = (
        statetimeline.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(10)
        .mappings([mapping])
        .with_target(target(query.expression, query.legend, "A"))
    )
    if links := _links("__field.labels", query.legend):
        return panel.override_by_query("A", [model.DynamicConfigValue("links", links)])
    return panel.links([to_overview()])


def row_links() -> list[dict[str, object]]:
    """Links of a row of a table with the columns deployment, metric and incident."""
    incident = _link("Incident", f"{PAGES}/incident?id={_encoded('__data.fields', 'incident')}")
    return [incident, *_links("__data.fields", "{{deployment}} {{metric}}")]


def _links(labels: str, legend: str) -> list[dict[str, object]]:
    """Links of what names a deployment, and maybe a metric; `labels` is what Grafana calls the labels there."""
    if "{{deployment}}" not in legend:
        return []
    deployment, metric = _encoded(labels, "deployment"), _encoded(labels, "metric")
    answers = f"{PAGES}/answers?deployment={deployment}&{_PERIOD}"
    if "{{metric}}" in legend:
        answers += f"&metric={metric}&sort={metric}&order=asc"
    if "{{tool}}" in legend:
        answers += f"&tool={_encoded(labels, 'tool')}"
    return [_link("Deployment", f"{PAGES}/deployment?name={deployment}"), _link("Answers", answers)]


def _encoded(labels: str, name: str) -> str:
    return f"${{{labels}.{name}:percentencode}}"


def _link(title: str, url: str) -> dict[str, object]:
    return {"title": f"{title} in dialwatch", "url": url, "targetBlank": True}


def to_overview() -> build.DashboardLink:
    """A link to the overview, which shows how dialwatch itself is above all deployments."""
    return build.DashboardLink("Overview in dialwatch").url(f"{PAGES}/").target_blank(True)


def to_incidents() -> build.DashboardLink:
    """A link to the list of incidents."""
    return build.DashboardLink("Incidents in dialwatch").url(f"{PAGES}/incidents").target_blank(True)


def target(expression: str, legend: str, ref_id: str) -> prometheus.Dataquery:
    """A Prometheus query of a panel: of the chosen installation alone."""
    return prometheus.Dataquery().expr(of_installation(expression)).legend_format(legend).ref_id(ref_id)


def installation() -> build.QueryVariable:
    """A variable: one installation, as links lead to the pages of one."""
    return _variable("installation", "Installation", "label_values(dialwatch_build_info, installation)")


def pages_address() -> build.QueryVariable:
    """A variable with the address of dialwatch's pages, as the monitor of the chosen installation exports it."""
    query = of_installation("label_values(dialwatch_pages_info, url)")
    return _variable("dialwatch", "dialwatch", query).hide(model.VariableHide.HIDE_VARIABLE)


def choice(name: str, label: str, query: str) -> build.QueryVariable:
    """A variable of several values; `.*` for all, since a list of a thousand deployments makes too long a query."""
    return (
        _variable(name, label, of_installation(query))
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(model.VariableOption(text="All", value="$__all"))
    )


def _variable(name: str, label: str, query: str) -> build.QueryVariable:
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
    )


def most() -> build.CustomVariable:
    """A variable: how many series a panel shows where several deployments are chosen."""
    options = [
        model.VariableOption(text=one, value=one, selected=one == "10") for one in ("5", "10", "20", "50", "1000")
    ]
    variable = build.CustomVariable("most").label("Series a panel").values(",".join(str(o.value) for o in options))
    return variable.options(options).current(options[1])


def dashes(length: int) -> model.DynamicConfigValue:
    """The style of a dashed line, for an override."""
    return model.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [length, length]})


def _grey() -> model.DynamicConfigValue:
    return model.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": "text"})
