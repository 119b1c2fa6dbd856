"""Words and figures of a run of replays, and its reports as files: Markdown for people, JUnit for a CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dialwatch.reports.terminal_text import in_one_line
from evaluator.replays import Comparison, MetricComparison, Outcome, ReplayRun
from lake.queries.preferences import EARLIER, LATER, TIE, preferences_in
from lake.spec.case_vocabulary import FAILED_PART_MEANING, FailedPart, ReplayVerdict

_EXCERPT = 300
_HEAD = "| metric | cases | before | now | mean difference (95 %) | by cases | by runs | level |"
_XML_1_0_REFUSES = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\ufffd")
_WORST = 5
"""Cases that are shown with both answers."""

PREFERENCE_WORDS: Mapping[float | None, str] = {
    LATER: "the judge prefers the answer of now",
    EARLIER: "the judge prefers the answer of before",
    TIE: "the judge prefers neither answer",
    None: "the judge does not say which answer it prefers",
}
VERDICT_WORDS: Mapping[ReplayVerdict, str] = {
    ReplayVerdict.BASELINE: "first run: later ones are compared with it",
    ReplayVerdict.REGRESSION: "regression: the answers got worse",
    ReplayVerdict.SUSPECTED: "suspected: the answers are worse than single answers vary, but whole runs may differ so "
    "much; later runs tell",
    ReplayVerdict.NO_REGRESSION: "no regression",
    ReplayVerdict.TOO_FEW: "too few: nothing is known",
    ReplayVerdict.INCOMPLETE: "incomplete: more than a tenth of the cases were not answered, so nothing is concluded",
}


def write_markdown(run: ReplayRun, path: Path) -> None:
    """Write the run as Markdown: figures, and the worst cases with both answers."""
    lines = [f"# Replay of {_plain(headline(run))}", "", f"{counts(run)}.", ""]
    if run.comparison is not None:
        lines += [_HEAD, "|---|---|---|---|---|---|---|---|"]
        lines += [
            f"| {one.metric} | {one.pairs} | {one.before:.2f} | {one.after:.2f} | {one.mean_difference:+.2f} "
            f"({one.lower:+.2f} to {one.upper:+.2f}) | {' | '.join(probability_words(one))} |"
            for one in run.comparison.metrics
        ]
        lines.append("")
    if preferred := preference_words(run):
        lines += [f"{_plain(preferred)}.", ""]
    if words := failed_part_words(run):
        lines += [f"Part that failed, of {words}.", ""]
    for case_id, question, before, now in worst_cases(run):
        lines += [f"## {_plain(question)}", "", f"- case {case_id}", f"- before: {_plain(before)}"]
        lines += [f"- now: {_plain(now)}", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def write_junit(run: ReplayRun, path: Path) -> None:
    """Write the run as JUnit's XML: a test a case, and one for the run.

    A case fails where the run is a regression and the case passed before and does not now. Single cases vary by chance:
    what else got worse is a note.
    """
    changes = {one.case_id: one for one in run.comparison.cases} if run.comparison else {}
    is_regression = run.verdict in (ReplayVerdict.REGRESSION, ReplayVerdict.SUSPECTED)
    suite = ElementTree.Element("testsuite", name=f"dialwatch replay {_xml(run.deployment)}")
    whole = ElementTree.SubElement(suite, "testcase", classname=_xml(run.deployment), name="no regression")
    if is_regression:
        ElementTree.SubElement(whole, "failure", message=_xml(headline(run))).text = _xml(counts(run))
    if preferred := preference_words(run):
        ElementTree.SubElement(whole, "system-out").text = preferred
    failed = errors = 0
    for row in run.rows:
        question = in_one_line(run.cases[row["case_id"]]["question"], _EXCERPT)
        seconds = f"{(row['duration_ms'] or 0) / 1000:.3f}"
        named = {"classname": _xml(run.deployment), "name": _xml(question), "time": seconds}
        test = ElementTree.SubElement(suite, "testcase", named)
        if row["error"] is not None:
            errors += 1
            ElementTree.SubElement(test, "error", message=_xml(row["error"]))
            continue
        notes = [PREFERENCE_WORDS[value] for value in preferences_in(row)]
        if (change := changes.get(row["case_id"])) is not None and change.outcome == Outcome.WORSE:
            part = failed_parts(row)
            message = f"worse than before{f': {FAILED_PART_MEANING[part]}' if part else ''}"
            if is_regression and change.stopped_passing:
                failed += 1
                ElementTree.SubElement(test, "failure", message=message).text = _xml(row["answer"] or "")
            else:
                notes.insert(0, message)
        if notes:
            ElementTree.SubElement(test, "system-out").text = "; ".join(notes)
    suite.set("tests", str(len(run.rows) + 1))
    suite.set("failures", str(failed + is_regression))
    suite.set("errors", str(errors))
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def worst_cases(run: ReplayRun) -> list[tuple[str, str, str, str]]:
    """Return id, question, answer before and answer now of the cases that got worse most."""
    if run.comparison is None:
        return []
    rows = {row["case_id"]: row for row in run.rows}
    worse = [one.case_id for one in run.comparison.cases if one.outcome == Outcome.WORSE][:_WORST]
    return [
        (one, run.cases[one]["question"], _said(run.baseline[one]), _said(rows[one])) for one in worse if one in rows
    ]


def _said(row: Mapping[str, Any]) -> str:
    return row["answer"] if row["answer"] is not None else f"(no answer: {row['error']})"


def _plain(text: str) -> str:
    """Return a text in one line in which Markdown finds no marks, links, pictures or HTML."""
    shown = in_one_line(text, _EXCERPT)
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>()#+-.!|~&:" else one for one in shown)


def _xml(text: str) -> str:
    return text.translate(_XML_1_0_REFUSES)


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


def preference_words(run: ReplayRun) -> str | None:
    """Say in a line which answers the judge prefers, and how likely that is by chance; None where none was asked."""
    found = run.preferences
    if found is None:
        return None
    return (
        f"preferred by the judge: now {found.later}, before {found.earlier}, ties {found.ties}, undecided "
        f"{found.undecided}; sign test {found.probability:.2g}"
    )


def probability_words(metric: MetricComparison) -> tuple[str, str, str]:
    """Return the probabilities by cases and by runs, each with a mark where it is small enough, and the level."""
    marks = (f"{one:.2g}{' ≤' if one <= metric.level else ' >'}" for one in (metric.by_cases, metric.by_runs))
    by_cases, by_runs = marks
    return by_cases, by_runs, f"{metric.level:.2g}"


def failed_parts(row: Mapping[str, Any]) -> FailedPart | None:
    """Return the part that failed in a replayed answer."""
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
