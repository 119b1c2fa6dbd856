"""Decisions on what each application does, by its answers of 7 days, and so on which metrics score it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

import pyarrow.dataset as ds

from evaluator.answers import DeploymentTables
from evaluator.metrics import Metric
from evaluator.scoring.work import is_about_retrieval
from evaluator.settings import EvaluatorSettings
from lake.queries.application_classes import ApplicationClasses, DecidedClass, seen_answers
from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from lake.spec.application_classes import LEAST_ANSWERS, LOOKED_AT, ApplicationClass
from lake.spec.root_tables import APPLICATION_CLASSES
from lake.store.store_errors import log_failure
from lake.tables.open_tables import TableSource

logger = logging.getLogger(__name__)


class ClassDecisions:
    """Gives each deployment the metrics of its class.

    A class is decided once 50 answers are there, is kept in the lake, and stays for 7 days: streams of scores that end
    and begin would tell nothing. With fewer answers the class is what they show so far, and is not kept. A deployment's
    answers are read again only where its class is due and a tenth more came since they were, or 50: a week of them
    may be large, also where most failed and show nothing.
    """

    def __init__(self, source: TableSource, settings: EvaluatorSettings) -> None:
        self._classes = ApplicationClasses(source)
        self._settings = settings
        self._shown: dict[str, tuple[ApplicationClass, ...]] = {}
        """Classes that few answers show so far."""
        self._came: Counter[str] = Counter()
        """How many answers of each deployment came."""
        self._came_when_read: dict[str, int] = {}
        """How many had come when they were last read."""

    def look(self) -> None:
        """Take in what other evaluators decided."""
        try:
            self._classes.look()
        except Exception as error:  # what was known before will do
            log_failure(logger, error, "new rows of %s are read in the next pass", APPLICATION_CLASSES.name)

    def came(self, deployment: str, answers: int) -> None:
        """Note that answers of a deployment came."""
        self._came[deployment] += answers

    def retrieves(self, deployment: str) -> bool:
        """Whether a deployment retrieves, as far as is known."""
        known = self._classes.known.get(deployment)
        return known is None or ApplicationClass.RETRIEVES in known.classes

    def why(self, deployment: str) -> str | None:
        """Say what a deployment does, with the reason and the metrics; None as long as that is not known."""
        known = self._classes.known.get(deployment)
        return known.why if known else None

    def kept_metrics(self, deployment: str) -> list[Metric]:
        """Return the metrics of the class that a deployment has; nothing is decided."""
        known = self._classes.known.get(deployment)
        return self._settings.chosen_metrics(deployment, known.classes if known else ())

    def metrics(self, tables: DeploymentTables, now: datetime) -> list[Metric]:
        """Return the metrics that score a deployment; decide on its class first where that is due."""
        name = tables.deployment
        known = self._classes.known.get(name)
        if self._has_news(name) and (known is None or abs(now - known.decided_at) >= LOOKED_AT):
            self._decide(tables, known, now)
            known = self._classes.known.get(name)
        metrics = self._settings.chosen_metrics(name, known.classes if known else self._shown.get(name, ()))
        if known is not None and known.metrics != _names(metrics):
            self._keep(known, now, known.decided_at)
        return metrics

    def _has_news(self, deployment: str) -> bool:
        if deployment not in self._came_when_read:
            return True
        came = self._came[deployment]
        return came - self._came_when_read[deployment] >= max(1, min(LEAST_ANSWERS, came // 10))

    def _decide(self, tables: DeploymentTables, known: DecidedClass | None, now: datetime) -> None:
        name = tables.deployment
        if tables.logs.version() is None:
            return
        seen = seen_answers(tables.logs, now, tables.children, name)
        self._came_when_read[name] = self._came[name]
        if not seen.decides:
            self._shown[name] = seen.classes
            return
        classes = seen.classes
        if known is not None and _is_alerted(tables, self._ended(known, classes)):
            # Who broke what retrieves must not end the scores that say so.
            classes = known.classes
        before = known or DecidedClass(name, 0, (), seen, (), False, now, now)
        self._keep(replace(before, classes=classes, seen=seen), now, now)

    def _ended(self, known: DecidedClass, classes: Collection[ApplicationClass]) -> set[str]:
        """Return the metrics that other classes would end, or make null for answers without contexts."""
        before, after = (self._settings.chosen_metrics(known.deployment, some) for some in (known.classes, classes))
        ended = set(known.metrics) - set(_names(after))
        if ApplicationClass.RETRIEVES in known.classes and ApplicationClass.RETRIEVES not in classes:
            ended |= {metric.name for metric in before if is_about_retrieval(metric)}
        return ended

    def _keep(self, found: DecidedClass, now: datetime, decided_at: datetime) -> None:
        name, before = found.deployment, self._classes.known.get(found.deployment)
        metrics = _names(self._settings.chosen_metrics(name, found.classes))
        is_same = before is not None and (before.classes, before.metrics) == (found.classes, metrics)
        decided = replace(
            found,
            look=found.look + 1,
            metrics=metrics,
            is_chosen=self._settings.named_metrics(name) is not None,
            since=found.since if is_same else now,
            decided_at=decided_at,
        )
        if not is_same:
            logger.info("deployment %r %s", name, decided.why, extra={"deployment": name})
        try:
            self._classes.keep(decided)
        except Exception as error:  # its answers are scored all the same
            log_failure(logger, error, "the class of deployment %r is not kept in the lake, and decided again", name)


def _names(metrics: Sequence[Metric]) -> tuple[str, ...]:
    return tuple(metric.name for metric in metrics)


def _is_alerted(tables: DeploymentTables, metrics: Collection[str]) -> bool:
    """Whether an alert about one of the metrics is open."""
    if not metrics or tables.alerts.version() is None:
        return False
    columns = ["metric", "metric_version", "change", "changed_at"]
    about = ds.field("metric").isin(sorted(metrics)) & ds.field("change").isin(ALERT_STATES)
    rows = sorted(tables.alerts.read(columns, about).to_pylist(), key=lambda row: row["changed_at"])
    last = {(row["metric"], row["metric_version"]): row["change"] for row in rows}
    return AlertEvent.FIRING in last.values()
