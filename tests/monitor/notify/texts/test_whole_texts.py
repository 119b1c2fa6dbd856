"""Whole messages, word by word: every number stands where it belongs, and every limit where it is written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import structs

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, OnsetKind, Tier
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer
from monitor.alerting.incidents.state import state_of
from monitor.detect.causes import AffectedCounts
from monitor.detect.limits import FailedTool, LimitDetails
from monitor.detect.limits.results import ChangedJudge
from monitor.detect.regression import NewClass, StreamKey
from monitor.notify.texts.alert import description, failed_part_lines, summary, worst_links
from monitor.notify.texts.incident import incident_line, note_of
from monitor.notify.texts.link import worst_since
from monitor.notify.texts.onset import brief_onset, onset
from runtime.durations import duration

AT = datetime(2026, 11, 20, 12, 5, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
URL = "https://watch.example/"


def meanwhile(bad: int, requests: int) -> dict[str, Any]:
    return {"lasted_seconds": 50 * 60, "bad_meanwhile": bad, "requests_meanwhile": requests}


def kind(name: str, change: Any = "firing", **details: Any) -> AlertChange:
    return AlertChange(
        f"{name} {change}", "alert", StreamKey("rag", name, LIMIT_VERSION), change, AT,
        AlertDetails(fired_at=AT, tier=Tier.PAGE, recorded_at=AT, exceeded=LimitDetails(**details)),
        "the share fell", AT - 9 * MINUTE,
    )  # fmt: skip


def share(**more: Any) -> dict[str, Any]:
    told = {"share": 0.71, "limit": 0.3, "ends_at": 0.15, "requests": 240, "bad": 170, "window_seconds": 900.0}
    return told | more


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (kind("errors", **share(in_a_row=4)), "71 % of 240 requests of rag in the last 15 minutes failed; limit 30 %"),
        (
            kind("errors", **share(in_a_row=5)),
            "71 % of 240 requests of rag in the last 15 minutes failed, the last 5 of them in a row; limit 30 %",
        ),
        (kind("errors", **share(requests=5, in_a_row=5)), "the last 5 requests of rag in a row failed; limit 30 %"),
        (
            kind("errors", **share(in_a_row=8, usual=0.1, mostly="503")),
            "the last 8 requests of rag in a row failed, mostly HTTP 503 (server not available); usual are 10 % "
            "or less",
        ),
        (
            kind("errors", **share(in_a_row=4, usual=0.1)),
            "71 % of 240 requests of rag in the last 15 minutes failed; usual are 10 % or less",
        ),
        (
            kind("errors", **share(callers=7, failing_callers=("a",), unnamed_failing_callers=0)),
            "71 % of 240 requests of rag in the last 15 minutes failed; limit 30 %; 1 of 7 deployments that call it "
            "fails too",
        ),
        (
            kind("errors", **share(callers=7, unnamed_failing_callers=2)),
            "71 % of 240 requests of rag in the last 15 minutes failed; limit 30 %; 2 of 7 deployments that call it "
            "fail too",
        ),
        (
            kind("errors", "resolved", **share(share=0.1, in_a_row=9)),
            "“failed requests” of rag: alert is over, only 10 % of 240 requests of rag in the last 15 minutes failed",
        ),
        (
            kind("errors", "resolved", **share(share=0.1, lasted_seconds=50 * 60)),
            "rag is back: requests failed for 50 minutes",
        ),
        (
            kind("errors", "resolved", **share(share=0.1, mostly="503") | meanwhile(1312, 1400)),
            "rag is back: requests failed for 50 minutes, 94 % of 1,400, mostly HTTP 503 (server not available)",
        ),
        (
            kind("empty_answers", "resolved", **share(share=0.0, lasted_seconds=3 * 3600)),
            "rag is back: answers were empty for 3 hours",
        ),
        (
            kind("tool_errors", **share(mostly="search", in_a_row=240, tool=FailedTool("search", 170, 200))),
            "the tool search failed in 170 of 200 calls by rag in the last 15 minutes; of all 240 calls of tools 71 % "
            "failed (at most 3 calls of a tool in one turn count); limit 30 %",
        ),
        (
            kind("tool_errors", **share(mostly="search", usual=0.1, tool=FailedTool("search", 170, 240))),
            "the tool search failed in 170 of 240 calls by rag in the last 15 minutes "
            "(at most 3 calls of a tool in one turn count); usual are 10 % or less",
        ),
        (
            kind(
                "tool_errors", "resolved", **share(share=0.15, tool=FailedTool("search", 70, 72)) | meanwhile(71, 140)
            ),
            "rag is back: the tool search failed for 50 minutes, in 70 of 72 calls; of all 140 calls of tools 51 % "
            "failed (at most 3 calls of a tool in one turn count)",
        ),
        (
            kind("refusals", "resolved", **share(share=0.1) | meanwhile(120, 200)),
            "“share of refusals” of rag: alert is over: answers refused or said that the information was "
            "missing for 50 "
            "minutes, 60 % of 200",
        ),
        (
            kind("replay", requests=12, bad=5, mostly="retrieval"),
            "accepted cases that were asked again of rag are answered worse than before; 5 of 12 answers do not agree "
            "with their case, mostly by retrieval",
        ),
        (
            kind("replay", requests=12, bad=5),
            "accepted cases that were asked again of rag are answered worse than before; 5 of 12 answers do not agree "
            "with their case",
        ),
        (
            kind("replay", "resolved", requests=12, bad=0),
            "“accepted cases asked again” of rag: alert is over, the share fell",
        ),
        (
            kind("judge_drift", judges=(ChangedJudge("m", -0.3, -0.4, -0.2, 9), ChangedJudge("n", 0.1, 0.0, 0.2, 8))),
            "the judge of rag changed: that of “m” now differs by -0.30 on the same 9 answers (95 % "
            "interval -0.40 to -0.20); that of “n” now differs by +0.10 on the same 8 answers (95 % "
            "interval +0.00 to +0.20)",
        ),
        (kind("judge_drift"), "the judge of rag changed: it gives the same answers other scores than at first"),
        (kind("judge_drift", "resolved"), "judge of rag: alert is over, the share fell"),
        (kind("no_data", "resolved"), "rag: the share fell"),
    ],
)
def test_a_limit_in_one_line(change: AlertChange, expected: str) -> None:
    assert summary(change) == expected


def without_details(name: str, change: Any = "firing") -> AlertChange:
    alert = kind(name, change)
    return replace(alert, details=structs.replace(alert.details, exceeded=None))


def test_a_limit_of_an_earlier_version_has_no_numbers() -> None:
    """What is not known is said so, and nothing fails."""
    assert summary(without_details("errors")) == "“failed requests” of rag: alert is over, the share fell"
    assert summary(without_details("no_data")).endswith("longest pause in four weeks was 0 seconds")
    assert summary(without_details("judge_drift")) == "judge of rag: alert is over, the share fell"
    assert " Other deployments get requests: check" in description(without_details("no_data"), "")


def test_callers_that_fail_too_are_ten_names_and_a_number() -> None:
    """With those that the receiver is not for."""
    names = tuple(f"app-{number:02}" for number in range(12))
    told = share(callers=20, failing_callers=names, unnamed_failing_callers=3, usual=0.1, in_a_row=8)
    assert description(kind("errors", **told), URL).splitlines()[1:] == [
        "Since: 2026-11-20 11:56 UTC; found with what came until 2026-11-20 12:05 UTC.",
        "These fail too, with no message of their own while this lasts: " + ", ".join(names[:10]) + " and 5 more.",
        "How sure: chance alone gives this at most once in a year of such traffic, if bad ones are independent of each "
        "other. It is over after eight minutes with traffic and without a bad one.",
        "What to do: look at the logs of the deployment and of the models that it calls; status 429 means a "
        "rate limit, 401 and 403 mean a problem with a key.",
        "Look at: https://watch.example/deployment?name=rag",
    ]
    few = description(kind("errors", **share(failing_callers=names[:2])), URL)
    assert "while this lasts: app-00, app-01.\n" in few


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "replay",
            [
                "How sure: the answers were compared case by case with those of an earlier run; of all runs together, "
                "1 in 20 or fewer deployments that did not change have such an alert.",
                "What to do: look at the cases that are worse. dialwatch ground-truth replay --deployment rag "
                "asks them again and shows the worst with "
                "both answers. If the answers changed on purpose, add --accept.",
            ],
        ),
        (
            "judge_drift",
            [
                "How sure: a judge that does not change raises this at most once in 365 days on average.",
                "What to do: look at the judge's model and version. Its model, or who serves it, was changed. "
                "Its scores of before and after cannot be "
                "compared. Name the model's exact version, or give the judge another model or prompt: that is a new "
                "version of the metric, which learns what is usual anew. This warning never becomes urgent.",
            ],
        ),
        (
            "no_data",
            [
                "What to do: look at whether people and programs can still reach the application; where no deployment "
                "gets requests, whether the collector runs and DIAL Core writes and ships its log. Other deployments "
                "get requests: check the application first."
            ],
        ),
    ],
)
def test_what_to_do_about_a_limit(name: str, expected: list[str]) -> None:
    """Nothing more, and how sure it is."""
    assert description(kind(name, requests=9, bad=3), "").splitlines()[2:-1] == expected


def test_every_line_of_a_page_that_waits(firing: AlertChange) -> None:
    """A judge's shift, the time of the page, and five of the worst answers."""
    details = structs.replace(
        firing.details, page_due=AT, judge_shift=-0.3, judge_shift_lower=-0.36, judge_shift_upper=None,
        worst=tuple(WorstAnswer(str(number), 0.1 * number) for number in range(7)), observations=9,
    )  # fmt: skip
    change = replace(firing, details=details, verdict=AlertVerdict.UNDECIDED)
    assert description(change, "").splitlines()[4:] == [
        "Cause: undecided between the application and the judge: on the same answers its scores differ by -0.30 "
        "from before (95 % interval -0.36 to unknown).",
        "A warning for now, though the evidence is that of an urgent alert: it becomes urgent once the judge's anchors "
        "show that not only the judge changed, or at 2026-11-20 12:05 UTC unless they show by then "
        "that only the judge did.",
        "If the change was intended: `dialwatch release mark` makes the new level the usual one.",
        "Look first at: Whether retrieval still finds the right documents; then the prompt and the model.",
        "Worst answers since then, by response_id in parsed_logs: 0 (0.00), 1 (0.10), 2 (0.20), 3 (0.30), 4 (0.40)",
        "Look at: the overview page of dialwatch",
    ]
    assert len(worst_links(change, URL)) == 5
    end = replace(change, change=AlertEvent.RESOLVED)
    assert "The worst of them" not in description(end, URL)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (0.005, 1.2, "0.41 (surely by at least 0.01) since"),
        (0.0049, 0.5, "0.41 since"),
        (-0.2, 0.0, "0.41 since"),
        (None, 0.5, "0.41 since"),
        (0.1, None, "0.41 (surely by at least 0.10) since"),
    ],
)
def test_a_drop_that_is_hardly_known_is_told_as_little(
    firing: AlertChange, lower: float | None, upper: float | None, expected: str
) -> None:
    """No "by 0.00", no drop that may be none, and none beyond what the values allow."""
    change = replace(firing, details=structs.replace(firing.details, drop_lower=lower, drop_upper=upper))
    assert f" fell from 0.80 to {expected} " in summary(change)


def test_failed_parts_are_the_most_frequent_first() -> None:
    """One answer is one answer."""
    assert failed_part_lines({}) == []
    assert failed_part_lines({FailedPart.RETRIEVAL: 1}) == [
        "Part that failed: retrieval, in 1 of 1 answer since then that do not agree with ground truth: retrieval did "
        "not find the fact."
    ]
    assert failed_part_lines({FailedPart.WRONG_TOOL: 2, FailedPart.TOOL: 1}) == [
        "Part that failed: wrong tool, in 2 of 3 answers since then that do not agree with ground truth: a tool that "
        "the answer needs was not called; the others: 1 tool."
    ]


def test_a_needed_tool_that_failed_is_in_the_headline(firing: AlertChange) -> None:
    """In words, as every part."""
    failed = replace(firing, details=structs.replace(firing.details, failed_parts={FailedPart.TOOL: 24}))
    assert summary(failed).endswith(". A needed tool failed in 24 of 24 wrong answers that could be checked")
    wrong = replace(firing, details=structs.replace(firing.details, failed_parts={FailedPart.WRONG_TOOL: 3}))
    assert summary(wrong).endswith(". A needed tool was not called in 3 of 3 wrong answers that could be checked")


def test_new_traffic_where_lower_is_better_is_higher(firing: AlertChange) -> None:
    """With both means, in their order, and no word of a judge or of a release."""
    details = structs.replace(firing.details, new_class=NewClass("language de", 0.2, 0.7, 0.4), lower_is_better=True)
    assert description(replace(firing, details=details), URL).splitlines()[:4] == [
        "What: a new class of traffic has worse “answer words found in the documents”: new: language de, 20 % of "
        "traffic, "
        "0.30 higher (0.70; other traffic 0.40).",
        "Since: 2026-11-20 09:30 UTC; found with the answers until 2026-11-20 12:00 UTC.",
        "Where: deployment apps/rag; metric “answer words found in the documents” (faithfulness_kprecision), version "
        "1.",
        "Cause: the traffic, as the reference has nothing of this class. What it has is watched as before, and the "
        "class from now on against its own level. This warning never becomes urgent.",
    ]


def test_a_fall_while_the_reference_was_learned_is_told_as_that(firing: AlertChange) -> None:
    """Against what came before, and how long it is told."""
    change = replace(firing, details=structs.replace(firing.details, while_learning=True, drop_lower=None))
    assert " while its reference was learned" in summary(change)
    text = description(change, URL)
    assert " in its first conversations to " in text.splitlines()[0]
    assert "How sure: about one of 50 metrics with steady quality gets such an alert, once." in text
    assert "This warning never becomes urgent and ends after seven days." in text
    assert "steady quality raises an alert like this" not in text


def test_a_fall_after_an_accepted_level_asks_whether_it_is_meant(firing: AlertChange) -> None:
    marked = datetime(2026, 11, 20, 9, tzinfo=UTC)
    change = replace(firing, details=structs.replace(firing.details, marked_release=marked))
    asked = ", after a new level was accepted at 2026-11-20 09:00 UTC; is it this one?"
    assert asked in summary(change)
    counted = structs.replace(change.details, affected=AffectedCounts(212, 108, 40))
    assert f"{asked} By 2026-11-20 12:00 UTC: 212 requests of 40 people" in summary(replace(change, details=counted))
    text = description(change, URL)
    assert "To accept the present level, accept it again" in text
    assert "If the change was intended" not in text


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (2 * DAY, "2 days"),
        (2 * DAY - MINUTE, "48 hours"),
        (2 * HOUR, "2 hours"),
        (2 * HOUR - MINUTE, "119 minutes"),
        (90 * MINUTE, "90 minutes"),
    ],
)
def test_a_duration_has_at_least_two_of_its_unit(length: timedelta, expected: str) -> None:
    assert duration(length) == expected


@pytest.mark.parametrize(
    ("minute", "before", "after", "kind", "expected"),
    [
        (31, 30, 29, None, "since about 2026-03-03 23:31 UTC (between 2026-03-03 23:01 UTC and 2026-03-04 00:00 UTC)"),
        (31, 30, 30, None, "since about 2026-03-04 00:00 UTC (between 2026-03-03 23:00 UTC and 2026-03-04 01:00 UTC)"),
        (29, 29, 31, None, "since about 2026-03-03 23:00 UTC (between 2026-03-03 23:00 UTC and 2026-03-04 00:00 UTC)"),
        (0, 2880, 0, None, "since about 2026-03-03 (between 2026-03-01 and 2026-03-03)"),
        (0, 2879, 0, None, "since about 2026-03-03 23:00 UTC (between 2026-03-01 23:00 UTC and 2026-03-03 23:00 UTC)"),
        (0, 1439, 0, "recurring", "each day between 9 and 17 UTC, since 2026-03-03"),
        (
            0, 1440, 0, "recurring",
            "each day between 9 and 17 UTC, since about 2026-03-03 (between 2026-03-02 and 2026-03-03)",
        ),
    ],
)  # fmt: skip
def test_an_interval_is_rounded_outwards_by_its_width(
    firing: AlertChange, minute: int, before: int, after: int, kind: str | None, expected: str
) -> None:
    """To minutes below an hour, to hours below two days, then to days."""
    at = datetime(2026, 3, 3, 23, minute, tzinfo=UTC)
    details = structs.replace(
        firing.details, since_earliest=at - before * MINUTE, since_latest=at + after * MINUTE,
        onset=kind and OnsetKind(kind), onset_hours=(9, 17),
    )  # fmt: skip
    assert onset(replace(firing, since=at, details=details)) == expected


def test_days_of_an_onset_are_those_of_utc(firing: AlertChange) -> None:
    """Whatever zone its time was read in; one that is not known has no time."""
    at = datetime(2026, 3, 4, 1, tzinfo=timezone(2 * HOUR))
    details = structs.replace(firing.details, onset=OnsetKind.RECURRING, onset_hours=(9, 17))
    assert brief_onset(replace(firing, since=at, details=details)) == "each day between 9 and 17 UTC since 2026-03-03"
    assert onset(replace(firing, since=None)) == "since about an unknown time"
    earliest = structs.replace(firing.details, since_earliest=AT - DAY)
    assert worst_since(replace(firing, details=earliest)) == date(2026, 11, 18)
    assert worst_since(replace(firing, since=AT)) == date(2026, 11, 19)
    assert worst_since(replace(firing, since=None)) is None


def test_an_incident_names_what_is_over(firing: AlertChange) -> None:
    """In the order in which its metrics joined; without an address there is no link."""
    other = replace(firing, alert_id="b", key=replace(firing.key, metric="n"))
    over = replace(firing, change=AlertEvent.RESOLVED)
    note = note_of("id", state_of([firing, other, over]), URL)
    assert incident_line(note) == (
        "Incident: “answer words found in the documents” (over), “n”; https://watch.example/incident?id=id"
    )
    assert (note.status, note.severity) == ("firing", "warning")
    bare = note_of("id", state_of([firing, other, over, replace(other, change=AlertEvent.RESOLVED)]), "")
    assert (bare.status, bare.link) == ("resolved", None)
    assert incident_line(bare) == "Incident: “answer words found in the documents” (over), “n” (over)"
