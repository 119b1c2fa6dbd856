"""The evaluator's own metrics: what the passes of this process did since it started.

The monitor exports what the lake holds of all evaluators (`dialwatch_evaluations_total` and others). The names here
begin with `dialwatch_evaluator_`, so both can be scraped, also from one process, and nothing is counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Gauge, ProcessCollector

from evaluator.service.group import EvaluatorGroup
from evaluator.service.passes import PassResult
from runtime.labelled_registry import LabelledRegistry


class PassMeter:
    """Counts what passes do; `registry` shows it, and the process that it runs in. It never reads the lake."""

    def __init__(
        self, group: EvaluatorGroup, installation: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.registry = LabelledRegistry(installation)
        ProcessCollector(registry=self.registry)
        self._monotonic = monotonic
        self._well_at = monotonic()
        self._passes = Counter(
            "dialwatch_evaluator_passes_total",
            "Passes of this process that ended: well, or failed, where a deployment or all of them were not evaluated.",
            ("outcome",),
            registry=self.registry,
        )
        for outcome in ("well", "failed"):
            self._passes.labels(outcome)
        self._seconds = Gauge(
            "dialwatch_evaluator_pass_duration_seconds", "Seconds that the last pass took.", registry=self.registry
        )
        self._failed = Gauge(
            "dialwatch_evaluator_failed_deployments",
            "Deployments that the last pass could not evaluate; the next one takes them up again.",
            registry=self.registry,
        )
        self._scores = Counter(
            "dialwatch_evaluator_scores_total", "Scores with a value that this process made.", registry=self.registry
        )
        self._unscored = Counter(
            "dialwatch_evaluator_unscored_total",
            "Scores without a value that this process made, by reason.",
            ("reason",),
            registry=self.registry,
        )
        Gauge(
            "dialwatch_evaluator_pass_age_seconds",
            "Seconds since a pass of this process last went well, else since it started, by no clock.",
            registry=self.registry,
        ).set_function(lambda: monotonic() - self._well_at)
        Gauge(
            "dialwatch_evaluator_group_members",
            "Evaluators that share the deployments of the lake, as this one sees it.",
            registry=self.registry,
        ).set_function(lambda: group.size)

    @contextmanager
    def measured(self) -> Iterator[Callable[[PassResult], PassResult]]:
        """Measure the pass in the block; yields a function that takes its result, and gives it back."""
        began, is_well = self._monotonic(), False

        def note(result: PassResult) -> PassResult:
            nonlocal is_well
            is_well = not result.failures
            self._failed.set(len(result.failures))
            self._scores.inc(result.scored)
            for reason, number in result.unscored.items():
                self._unscored.labels(reason).inc(number)
            return result

        try:
            yield note
        finally:
            self._seconds.set(self._monotonic() - began)
            self._passes.labels("well" if is_well else "failed").inc()
            if is_well:
                self._well_at = self._monotonic()
