"""The Grafana dashboard in Python; `python -m deploy.grafana.dashboard` writes dialwatch.json anew."""

from __future__ import annotations

import json
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from deploy.grafana.limits import add_limits
from deploy.grafana.panels import choice, installation, most, pages_address, to_incidents, to_overview
from deploy.grafana.pipeline import add_pipeline
from deploy.grafana.quality import add_alerts, add_scores
from deploy.grafana.traffic import add_agents, add_people, add_traffic

PATH = Path(__file__).with_name("dialwatch.json")


def dashboard_json() -> str:
    """Give the dashboard as Grafana imports it."""
    return json.dumps(dashboard(), cls=JSONEncoder, sort_keys=True, indent=2) + "\n"


def dashboard() -> model.Dashboard:
    """Build the dashboard: alerts and quality first, then people, traffic, agents, limits, and dialwatch itself."""
    board = (
        build.Dashboard("dialwatch: quality of DIAL applications")
        .uid("dialwatch")
        .description(
            "Alerts, scores, ratings and traffic of the deployments behind DIAL. Of several deployments a panel shows "
            "what changed most; of one it shows everything."
        )
        .tags(["dial", "llm", "quality"])
        .time("now-24h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .link(to_overview().type(model.DashboardLinkType.LINK).icon("external link"))
        .link(to_incidents().type(model.DashboardLinkType.LINK).icon("external link"))
        .with_variable(build.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(installation())
        .with_variable(choice("deployment", "Deployment", "label_values(dialwatch_responses_total, deployment)"))
        .with_variable(choice("metric", "Metric", "label_values(dialwatch_score_mean, metric)"))
        .with_variable(most())
        .with_variable(pages_address())
    )
    for add in (add_alerts, add_scores, add_people, add_traffic, add_agents, add_limits, add_pipeline):
        add(board)
    return board.build()


if __name__ == "__main__":
    PATH.write_text(dashboard_json(), encoding="utf-8")
