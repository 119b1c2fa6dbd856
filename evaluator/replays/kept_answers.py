"""Answers of earlier runs, scored against their cases as these are now and by the metrics as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.metrics import Metric
from evaluator.replays.asking import Asked, Reply
from evaluator.replays.comparison import Scores
from evaluator.replays.scores import better_if_higher, scores_of

Row = Mapping[str, Any]
CaseVersions = Mapping[tuple[str, int], Mapping[str, Any]]
"""Versions of cases, by id and version."""

_ASKED = ("question", "documents")
"""Columns of a case that an application is asked with: an answer to others says nothing of the case as it is now."""


def kept_scores(
    rows: Iterable[Row], cases: Mapping[str, Row], versions: CaseVersions, metrics: Sequence[Metric]
) -> tuple[Scores, frozenset[str]]:
    """Return the scores of the answers of a run, and the cases whose answers cannot be scored as the cases are now.

    `cases` are those that are asked now. Kept scores are taken where the case and the versions of all metrics are still
    the same. Otherwise the kept answer is scored anew, unless the case asks something else now, or the version that was
    asked is not known. Rows without an answer, and of cases that are not asked now, are in neither.
    """
    answered = [row for row in rows if row["answer"] is not None and row["case_id"] in cases]
    usable = [row for row in answered if _asks_the_same(row, cases[row["case_id"]], versions)]
    stale = [row for row in usable if not _is_as_now(row, cases[row["case_id"]], metrics)]
    anew = dict(zip((row["case_id"] for row in stale), _scored_anew(stale, cases, metrics), strict=True))
    scores = {row["case_id"]: anew.get(row["case_id"]) or row["scores"] or () for row in usable}
    left_out = frozenset(row["case_id"] for row in answered) - scores.keys()
    return {case_id: values_of(found, metrics) for case_id, found in scores.items()}, left_out


def values_of(scores: Iterable[Mapping[str, Any]], metrics: Sequence[Metric]) -> Mapping[str, float]:
    """Return the values by metric, higher is better; without those of metrics or versions that are not in use."""
    versions = {(metric.name, metric.version) for metric in metrics}
    return {
        score["metric"]: better_if_higher(metrics, score["metric"], score["value"])
        for score in scores
        if score["value"] is not None and (score["metric"], score["metric_version"]) in versions
    }


def _asks_the_same(row: Row, case: Row, versions: CaseVersions) -> bool:
    if row["case_version"] == case["version"]:
        return True
    then = versions.get((row["case_id"], row["case_version"]))
    return then is not None and all((then[name] or None) == (case[name] or None) for name in _ASKED)


def _is_as_now(row: Row, case: Row, metrics: Sequence[Metric]) -> bool:
    scored = {(score["metric"], score["metric_version"]) for score in row["scores"] or ()}
    return row["case_version"] == case["version"] and {(one.name, one.version) for one in metrics} <= scored


def _scored_anew(
    rows: Sequence[Row], cases: Mapping[str, Row], metrics: Sequence[Metric]
) -> list[list[dict[str, Any]]]:
    return scores_of([_asked(row, cases[row["case_id"]]) for row in rows], metrics)


def _asked(row: Row, case: Row) -> Asked:
    # What an earlier version wrote does not say whether its contexts are all that was retrieved.
    contexts = row["contexts"] if row["cited_only"] is False else None
    return Asked(case, row["trace_id"], row["replayed_at"], row["duration_ms"], Reply(row["answer"], None, contexts))
