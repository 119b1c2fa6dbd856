"""Bounds on the number of series of a scrape: label values come from URLs and requests that any client can write."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.samples import Sample

logger = logging.getLogger(__name__)

OTHER = "other"
"""The value that stands for all those beyond the bound."""
_SUMMED = frozenset({"counter", "histogram"})


class LabelBound(NamedTuple):
    """How many values of a label are shown by themselves, and the setting that says so.

    There may be as many for each value of the label `within`, so that one of these takes no place from the others; but
    `in_all` no more than that, the first come.
    """

    most: int
    setting: str
    within: str | None = None
    in_all: int | None = None


class LabelBounds:
    """Shows some values of each bounded label by themselves, and all further ones together as `other`.

    A value that was shown stays shown, so that no counter goes down; where several are new those with the highest
    numbers come first. Sums of counters and histograms stay what they are; gauges of the others are left out, for they
    have no sum. Several threads may share one.
    """

    def __init__(self, bounds: Mapping[str, LabelBound]) -> None:
        self._bounds = bounds
        self._shown: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """Values by their label, and by the value of the one that they are bounded within."""
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def fold(self, families: Iterable[Metric]) -> list[Metric]:
        """Return the families with the values that are too many as `other`, and one more that counts these."""
        beyond: dict[str, set[str]] = {label: set() for label in self._bounds}
        with self._lock:
            folded = [self._folded(family, beyond) for family in families]
            self._log(beyond)
        counted = GaugeMetricFamily(
            "dialwatch_other_label_values",
            "Values of a label that are too many to be shown by themselves and are shown together as `other`.",
            labels=("label",),
        )
        for label, values in beyond.items():
            counted.add_metric((label,), len(values))
        return [*folded, counted]

    def _folded(self, family: Metric, beyond: Mapping[str, set[str]]) -> Metric:
        for label in self._bounds:
            # All samples of a family have the same labels.
            if not family.samples or label not in family.samples[0].labels:
                continue
            folded: list[Sample] = []
            for whole, samples in self._wholes(label, family.samples).items():
                over = self._beyond(label, whole, samples)
                beyond[label].update(over)
                folded += _with_other(family.type, samples, label, over) if over else samples
            family = _with_samples(family, folded)
        return family

    def _wholes(self, label: str, samples: list[Sample]) -> dict[str, list[Sample]]:
        within = self._bounds[label].within
        if within is None:
            return {"": samples}
        wholes: dict[str, list[Sample]] = {}
        for sample in samples:
            wholes.setdefault(sample.labels.get(within, ""), []).append(sample)
        return wholes

    def _beyond(self, label: str, whole: str, samples: Sequence[Sample]) -> set[str]:
        """Values of the label that are not shown, when as many were taken up as there is room for."""
        shown, most = self._shown[label, whole], self._most(label, whole)
        values = {sample.labels[label] for sample in samples} - shown - {OTHER}
        if values and len(shown) < most:
            amounts: dict[str, float] = dict.fromkeys(values, 0.0)
            for sample in samples:
                if sample.labels[label] in values:
                    amounts[sample.labels[label]] += sample.value
            shown.update(sorted(values, key=lambda value: (-amounts[value], value))[: most - len(shown)])
        return values - shown

    def _most(self, label: str, whole: str) -> int:
        """Return how many values are shown of a label: of all wholes together too there may be a bound."""
        bound = self._bounds[label]
        if bound.in_all is None:
            return bound.most
        others = sum(len(shown) for key, shown in self._shown.items() if key[0] == label and key[1] != whole)
        return min(bound.most, bound.in_all - others)

    def _log(self, beyond: Mapping[str, set[str]]) -> None:
        for label, values in beyond.items():
            if values and label not in self._logged:
                self._logged.add(label)
                bound = self._bounds[label]
                logger.warning(
                    "the metrics have more than %d values of the label %r: further ones, such as %r, are shown "
                    "together as %r; if they are real, raise %s",
                    bound.most,
                    label,
                    min(values)[:200],
                    OTHER,
                    bound.setting,
                )


def _with_samples(family: Metric, samples: list[Sample]) -> Metric:
    folded = Metric(family.name, family.documentation, family.type, family.unit)
    folded.samples = samples
    return folded


def _with_other(kind: str, samples: Sequence[Sample], label: str, over: set[str]) -> list[Sample]:
    kept = [sample for sample in samples if sample.labels.get(label) not in over]
    if kind not in _SUMMED:
        return kept
    others = (sample for sample in samples if sample.labels.get(label) in over)
    renamed = [one._replace(labels={**one.labels, label: OTHER}, exemplar=None) for one in others]
    return _summed([*kept, *renamed])


def _summed(samples: Iterable[Sample]) -> list[Sample]:
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for sample in samples:
        key = (sample.name, tuple(sample.labels.items()))
        before = sums.get(key)
        sums[key] = sample if before is None else before._replace(value=before.value + sample.value)
    return list(sums.values())
