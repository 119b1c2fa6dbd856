"""Tables of one deployment that the evaluator reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluator.answers.case_matching import CaseMatching
from lake.queries.child_contexts import ChildContexts
from lake.queries.ground_truth.cases import CaseBook
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import ALERTS, ANCHORS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.open_tables import TableSource
from lake.tables.pass_transaction import UncommittedPositions
from lake.tables.table import Table


@dataclass
class NewestWaiting:
    """When the newest row of a log was written that may wait for contexts, in microseconds, at a version of the log."""

    version: int | None = None
    written: int = 0


@dataclass(frozen=True)
class DeploymentTables:
    """Handles on one deployment's tables.

    `children` looks into those of all deployments; `uncommitted` and `waiting` remember from one pass to another.
    `matching` says which cases answers are compared with.
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
    matching: CaseMatching = field(default_factory=CaseMatching)
    waiting: NewestWaiting = field(default_factory=NewestWaiting)

    @classmethod
    def of(
        cls,
        lake: TableSource,
        deployment: str,
        children: ChildContexts | None = None,
        uncommitted: UncommittedPositions | None = None,
        matching: CaseMatching | None = None,
    ) -> DeploymentTables:
        """Open the tables of a deployment; none of them need exist."""
        specs = (PARSED_LOGS, USER_SIGNALS, GROUND_TRUTH, SCORES, ANCHORS, ALERTS)
        logs, signals, truth, scores, anchors, alerts = (lake.table(spec, deployment) for spec in specs)
        children, uncommitted = children or ChildContexts(lake), uncommitted or UncommittedPositions()
        matching = matching or CaseMatching()
        return cls(deployment, logs, signals, truth, scores, anchors, alerts, children, uncommitted, matching)

    def cases(self) -> CaseBook:
        """Read the cases that answers are compared with."""
        return CaseBook.read(self.truth, self.logs, self.matching.status, self.matching.similar)
