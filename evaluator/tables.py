"""The tables of one deployment that the evaluator reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from lake import GROUND_TRUTH, PARSED_LOGS, SCORES, USER_SIGNALS, Lake, Table


@dataclass(frozen=True)
class DeploymentTables:
    """Handles on one deployment's tables, for one pass."""

    deployment: str
    logs: Table
    signals: Table
    truth: Table
    scores: Table

    @classmethod
    def of(cls, lake: Lake, deployment: str) -> DeploymentTables:
        """Open the tables of a deployment; none of them need exist."""
        specs = (PARSED_LOGS, USER_SIGNALS, GROUND_TRUTH, SCORES)
        return cls(deployment, *(lake.table(spec, deployment) for spec in specs))
