"""Tables of one deployment that the evaluator reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from lake import (
    ALERTS,
    ANCHORS,
    GROUND_TRUTH,
    PARSED_LOGS,
    SCORES,
    USER_SIGNALS,
    ChildContexts,
    Lake,
    Table,
    UncommittedPositions,
)


@dataclass(frozen=True)
class DeploymentTables:
    """Handles on one deployment's tables, for one pass.

    `children` looks into those of all deployments; `uncommitted` remembers from one pass to another.
    """

    deployment: str
    logs: Table
    signals: Table
    truth: Table
    scores: Table
    anchors: Table
    alerts: Table
    children: ChildContexts
    uncommitted: UncommittedPositions

    @classmethod
    def of(
        cls,
        lake: Lake,
        deployment: str,
        children: ChildContexts | None = None,
        uncommitted: UncommittedPositions | None = None,
    ) -> DeploymentTables:
        """Open the tables of a deployment; none of them need exist."""
        specs = (PARSED_LOGS, USER_SIGNALS, GROUND_TRUTH, SCORES, ANCHORS, ALERTS)
        logs, signals, truth, scores, anchors, alerts = (lake.table(spec, deployment) for spec in specs)
        children, uncommitted = children or ChildContexts(lake), uncommitted or UncommittedPositions()
        return cls(deployment, logs, signals, truth, scores, anchors, alerts, children, uncommitted)
