"""Words and figures of a run, shared by the terminal, Markdown and JUnit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from evaluator.replays import Comparison, MetricComparison, Outcome, ReplayRun
from lake.spec.case_vocabulary import FAILED_PART_MEANING, FailedPart, ReplayVerdict

WORST = 5
"""Cases that are shown with both answers."""

VERDICT_WORDS: Mapping[ReplayVerdict, str] = {
    ReplayVerdict.BASELINE: "first run: later ones are compared with it",
    ReplayVerdict.REGRESSION: "regression: the answers got worse",
    ReplayVerdict.SUSPECTED: "suspected: the answers are worse than single answers vary, but whole runs may differ so "
    "much; later runs tell",
    ReplayVerdict.NO_REGRESSION: "no regression",
    ReplayVerdict.TOO_FEW: "too few: nothing is known",
    ReplayVerdict.INCOMPLETE: "incomplete: more than a tenth of the cases were not answered, so nothing is concluded",
}


def headline(run: ReplayRun) -> str:
    """Say in a line what a run found."""
    return f"{run.deployment}: {_found(run)}"


def _found(run: ReplayRun) -> str:
    words = VERDICT_WORDS[run.verdict]
    if run.verdict == ReplayVerdict.TOO_FEW and run.comparison is not None:
        return f"{words}; {_needed(run.comparison)}"
    if run.worse_since is not None:
        return f"{words} in the run of {run.worse_since:%Y-%m-%d %H:%M} UTC, and are not shown to be as good again"
    return words


def _needed(comparison: Comparison) -> str:
    """Say how many cases could be compared, and how many would have to be."""
    if not comparison.metrics:
        return "no case could be compared with the run before: accept a run with --accept to compare later ones with it"
    nearest = min(comparison.metrics, key=lambda one: one.needed_pairs - one.pairs)
    return (
        f"{nearest.pairs} cases could be compared, and a regression shows with {nearest.needed_pairs} or more: "
        "accept more cases"
    )


def counts(run: ReplayRun) -> str:
    """Say in a line how many cases were asked, and how they changed."""
    parts = [f"{len(run.rows)} cases asked"]
    if run.comparison is not None:
        parts += [f"{run.comparison.count(outcome)} {outcome}" for outcome in Outcome]
        new = sum(row["case_id"] not in run.baseline for row in run.rows)
        parts += [f"{new} not in the run compared with"] if new else []
    parts += [f"{run.changed} not compared (they ask something else now)"] if run.changed else []
    parts += [f"{run.errors} without an answer"] if run.errors else []
    parts += [f"{run.not_asked} not asked (most_cases, most_tokens)"] if run.not_asked else []
    parts += [f"{run.in_conversation} not asked (their question needs its conversation)"] if run.in_conversation else []
    return ", ".join(parts) + f"; {run.tokens:,} tokens"


def probability_words(metric: MetricComparison) -> tuple[str, str, str]:
    """Give the probabilities by cases and by runs, each with a mark where it is small enough, and the level."""
    marks = (f"{one:.2g}{' ≤' if one <= metric.level else ' >'}" for one in (metric.by_cases, metric.by_runs))
    by_cases, by_runs = marks
    return by_cases, by_runs, f"{metric.level:.2g}"


def failed_parts(row: Mapping[str, Any]) -> FailedPart | None:
    """Give the part that failed in a replayed answer."""
    found = (score["failed_part"] for score in row["scores"] or ())
    return next((FailedPart(part) for part in found if part), None)


def failed_part_words(run: ReplayRun) -> str | None:
    """Say which part failed, of the cases that got worse, or of all where there is no comparison; None for none."""
    worse = {one.case_id for one in run.comparison.cases if one.outcome == Outcome.WORSE} if run.comparison else None
    rows = [row for row in run.rows if worse is None or row["case_id"] in worse]
    parts = Counter(part for row in rows if (part := failed_parts(row)) is not None)
    if not parts:
        return None
    part, count = parts.most_common(1)[0]
    of = "cases that got worse" if worse is not None else "cases that failed"
    return f"{count} of {sum(parts.values())} {of}: {part} ({FAILED_PART_MEANING[part]})"
