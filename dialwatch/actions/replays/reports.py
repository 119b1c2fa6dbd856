"""Reports of a run as files: Markdown for people, JUnit for a CI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dialwatch.actions.replays.words import WORST, counts, failed_part_words, failed_parts, headline, probability_words
from dialwatch.reports.terminal_text import in_one_line
from evaluator.replays import Outcome, ReplayRun
from lake.spec.case_vocabulary import FAILED_PART_MEANING, ReplayVerdict

_EXCERPT = 300
_HEAD = "| metric | cases | before | now | mean difference (95 %) | by cases | by runs | level |"
_XML_1_0_REFUSES = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\ufffd")


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
    failed = errors = 0
    for row in run.rows:
        question = in_one_line(run.cases[row["case_id"]]["question"], _EXCERPT)
        seconds = f"{(row['duration_ms'] or 0) / 1000:.3f}"
        named = {"classname": _xml(run.deployment), "name": _xml(question), "time": seconds}
        test = ElementTree.SubElement(suite, "testcase", named)
        if row["error"] is not None:
            errors += 1
            ElementTree.SubElement(test, "error", message=_xml(row["error"]))
        elif (change := changes.get(row["case_id"])) is not None and change.outcome == Outcome.WORSE:
            part = failed_parts(row)
            message = f"worse than before{f': {FAILED_PART_MEANING[part]}' if part else ''}"
            if is_regression and change.stopped_passing:
                failed += 1
                ElementTree.SubElement(test, "failure", message=message).text = _xml(row["answer"] or "")
            else:
                ElementTree.SubElement(test, "system-out").text = message
    suite.set("tests", str(len(run.rows) + 1))
    suite.set("failures", str(failed + is_regression))
    suite.set("errors", str(errors))
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def worst_cases(run: ReplayRun) -> list[tuple[str, str, str, str]]:
    """Give id, question, answer before and answer now of the cases that got worse most."""
    if run.comparison is None:
        return []
    rows = {row["case_id"]: row for row in run.rows}
    worse = [one.case_id for one in run.comparison.cases if one.outcome == Outcome.WORSE][:WORST]
    return [
        (one, run.cases[one]["question"], _said(run.baseline[one]), _said(rows[one])) for one in worse if one in rows
    ]


def _said(row: Mapping[str, Any]) -> str:
    return row["answer"] if row["answer"] is not None else f"(no answer: {row['error']})"


def _plain(text: str) -> str:
    """Give a text in one line in which Markdown finds no marks, links, pictures or HTML."""
    shown = in_one_line(text, _EXCERPT)
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>()#+-.!|~&:" else one for one in shown)


def _xml(text: str) -> str:
    return text.translate(_XML_1_0_REFUSES)
