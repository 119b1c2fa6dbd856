"""The tables of one deployment that the evaluator reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from lake import GROUND_TRUTH, PARSED_LOGS, SCORES, USER_SIGNALS, ChildContexts, Lake, Table


@dataclass(frozen=True)
class DeploymentTables:
    """Handles on one deployment's tables, for one pass; `children` looks into those of all deployments."""

    deployment: str
    logs: Table
    signals: Table
    truth: Table
    scores: Table
    children: ChildContexts

    @classmethod
    def of(cls, lake: Lake, deployment: str, children: ChildContexts | None = None) -> DeploymentTables:
        """Open the tables of a deployment; none of them need exist."""
        specs = (PARSED_LOGS, USER_SIGNALS, GROUND_TRUTH, SCORES)
        logs, signals, truth, scores = (lake.table(spec, deployment) for spec in specs)
        return cls(deployment, logs, signals, truth, scores, children or ChildContexts(lake))
