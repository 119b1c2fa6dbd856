import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from lake.queries.affected import GroupKind, StandsOut
from lake.spec.alert_vocabulary import AlertEvent, OnsetKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange, AlertDetails, from_row, to_row
from monitor.detect.causes import AffectedCounts, RefusalCounts
from monitor.detect.regression import NewClass, SegmentChange
from monitor.notify.formats.standard import webhook_body
from monitor.notify.texts.alert import description, summary

NOT_THE_JUDGE = "not the judge: the application, its documents or the questions changed"


def test_a_woken_person_reads_what_since_when_where_how_sure_and_where_to_look(firing: AlertChange) -> None:
    """The text of a firing alert, in full."""
    assert (
        summary(firing)
        == "apps/rag: “answer words found in the documents” fell from 0.80 to 0.41 since 2026-11-20 09:30 UTC"
    )
    assert description(firing, "https://watch.example/").splitlines() == [
        "What: the mean of “answer words found in the documents” (higher is better) fell from 0.80 in the reference to "
        "0.41 (95 % interval 0.30 to 0.52).",
        "Since: about 2026-11-20 09:30 UTC; found with the answers until 2026-11-20 12:00 UTC.",
        "Where: deployment apps/rag, all of its scored answers; metric “answer words found in the documents” "
        "(faithfulness_kprecision), version 1.",
        "How sure: steady quality raises an alert like this at most once in 30 days on average.",
        "Cause: undecided; the judge has scored too few of its anchors since then, so the judge itself may have "
        "changed.",
        "If the change was intended: `dialwatch release mark` makes the new level the usual one.",
        "Look first at: Whether retrieval still finds the right documents; then the prompt and the model.",
        "Worst answers since then: the worst has the score 0.00: https://watch.example/answer?deployment=apps/rag&response_id=chatcmpl-1&since=2026-11-19",
        "Look at: https://watch.example/deployment?name=apps/rag",
    ]


@pytest.mark.parametrize(
    ("counts", "brief", "line"),
    [
        ((1049, 33, 41), "1,049 requests of 41 people", "1,049 requests of 41 people in 33 conversations"),
        ((1, 1, 1), "1 request of 1 person", "1 request of 1 person in 1 conversation"),
        ((2, 0, 0), "2 requests", "2 requests"),
    ],
)
def test_who_is_affected_is_counted_and_not_named(
    firing: AlertChange, counts: tuple[int, int, int], brief: str, line: str
) -> None:
    """In the first line, in a line of its own, and as numbers; an end says nothing of it, and nobody is not told."""
    affected = AffectedCounts(*counts)
    change = replace(firing, details=structs.replace(firing.details, affected=affected))
    assert summary(change) == f"{summary(firing)}. By 2026-11-20 12:00 UTC: {brief}"
    assert f"Affected: {line} from then until 2026-11-20 12:00 UTC." in description(change, "").splitlines()
    (data,) = json.loads(webhook_body([change], "team", ""))["data"]
    assert data["affected"] == dict(zip(("requests", "conversations", "people"), counts, strict=True))
    assert from_row(to_row(change)) == change
    assert "By " not in summary(replace(change, change=AlertEvent.RESOLVED))
    nobody = structs.replace(firing.details, affected=AffectedCounts(0, 0, 0))
    assert summary(replace(firing, details=nobody)) == summary(firing)


def test_an_end_says_from_when_to_when_it_was_worse_and_for_whom(firing: AlertChange) -> None:
    """As far as that is known."""

    def said(affected: AffectedCounts | None, back_since: datetime | None) -> list[str]:
        details = structs.replace(firing.details, affected=affected, back_since=back_since)
        over = replace(firing, change=AlertEvent.RESOLVED, details=details)
        assert from_row(to_row(over)) == over
        return [line for line in description(over, "").splitlines() if line.startswith("In all")]

    back, asked = datetime(2026, 11, 20, 15, 0, tzinfo=UTC), AffectedCounts(103, 5, 2)
    since, who = (
        "from 2026-11-20 09:30 UTC to about 2026-11-20 15:00 UTC, 5.5 hours",
        "103 requests of 2 people in 5 conversations",
    )
    assert said(asked, back) == [f"In all, {since}: {who}."]
    assert said(None, back) == [f"In all, {since}."]
    assert said(asked, None) == [f"In all, since 2026-11-20 09:30 UTC: {who}."]
    assert said(None, None) == said(AffectedCounts(0, 0, 0), None) == []


def test_what_stands_out_is_told_and_a_document_not_named(firing: AlertChange) -> None:
    groups = StandsOut(GroupKind.PROJECT, "hr", 1200, 1300, 1, 600), StandsOut(GroupKind.DOCUMENT, "", 7, 9, 0, 60)
    affected = AffectedCounts(90, 0, 0, groups)
    change = replace(firing, details=structs.replace(firing.details, affected=affected))
    said = "Most affected: project hr (1,200 of 1,300 worst answers, 1 of 600 good ones); one document (7 of 9 worst "
    assert f"{said}answers, 0 of 60 good ones)." in description(change, "").splitlines()
    (data,) = json.loads(webhook_body([change], "team", ""))["data"]
    assert [one["name"] for one in data["affected"]["stands_out"]] == ["hr", ""]
    assert from_row(to_row(change)) == change


def test_what_to_look_at_first_is_that_of_the_guide_to_metrics(firing: AlertChange) -> None:
    """Or what the parts say that failed often, in five cases or more, which say nothing of how long an answer took.

    Nothing of a metric that the guide does not have, or where the judge alone changed.
    """

    def look(metric: str, verdict: str | None = None, **failed: int) -> list[str]:
        details = structs.replace(firing.details, failed_parts=failed)
        change = replace(firing, key=replace(firing.key, metric=metric), verdict=verdict, details=details)
        return [line for line in description(change, "").splitlines() if line.startswith("Look first at: ")]

    assert look("facts_recall") == ["Look first at: The index and its last update; the search of the application."]
    assert look("hit_rate@5") == ["Look first at: The index and the search."]
    by_part = look("case_passed", generation=3, retrieval=6, tool=1)
    assert by_part == [
        "Look first at: Retrieval failed: the index and its last update; the search of the application. "
        "Generation failed: the prompt and the model."
    ]
    assert look("facts_recall", retrieval=6) == [
        "Look first at: Retrieval failed: the index and its last update; the search of the application."
    ]
    assert look("case_passed", generation=4) == ["Look first at: The worst answers beside their cases."]
    slow = ["Look first at: The models that it calls; its own load."]
    assert look("latency", generation=1) == look("latency_over@10", generation=9) == slow
    assert look("case_passed", "judge", retrieval=6) == look("facts_recall", "judge") == []
    assert look("my_own") == look("my_own@5") == []


def test_a_version_that_answers_worse_than_the_one_before_is_told_as_that(firing: AlertChange) -> None:
    """A fall of the version that came later than with its first answer is one like any other."""
    newer, older = "applications/public/help__1.1.0", "applications/public/help__1.0.0"
    details = structs.replace(firing.details, onset=OnsetKind.RELEASE, older_version=older)
    change = replace(firing, key=replace(firing.key, deployment=newer), details=details)
    assert summary(change) == (
        f"{newer} answers worse than 1.0.0: “answer words found in the documents” fell from 0.80 to 0.41 "
        "since its first answer, 2026-11-20 09:30 UTC"
    )
    lines = description(change, "").splitlines()
    assert lines[1].startswith("Since: its first answer, 2026-11-20 09:30 UTC; ")
    assert f"Compared with: {older}, an older version, whose reference this one began with." in lines
    (data,) = json.loads(webhook_body([change], "team", ""))["data"]
    assert (data["onset"], data["older_version"]) == ("release", older)
    assert from_row(to_row(change)) == change
    later = replace(change, details=structs.replace(details, onset=OnsetKind.SUDDEN))
    assert summary(later).startswith(f"{newer}: “answer words found in the documents” fell")


def test_a_page_and_a_metric_that_is_better_when_low_are_described_as_what_they_are(firing: AlertChange) -> None:
    """It rose, lower is better, and the promise of a page is of all that is watched."""
    year = timedelta(days=365).total_seconds()
    details = structs.replace(firing.details, tier="page", false_alarm_every_seconds=year)
    page = replace(firing, reference_mean=0.1, current_mean=0.4, details=details)
    assert (
        summary(page)
        == "apps/rag: “answer words found in the documents” rose from 0.10 to 0.40 since 2026-11-20 09:30 UTC"
    )
    lines = description(page, "").splitlines()
    assert "(lower is better) rose from 0.10 in the reference to 0.40" in lines[0]
    assert lines[3] == (
        "How sure: steady quality raises an alert like this at most once in 365 days on average, of all that is "
        "watched together."
    )


def cause(change: AlertChange) -> str:
    (line,) = [line for line in description(change, "").splitlines() if line.startswith("Cause: ")]
    return line.removeprefix("Cause: ")


def test_the_cause_is_described_with_its_evidence(firing: AlertChange) -> None:
    """The verdict comes with the judge's shift and its interval; that the judge changed stands in the summary too."""
    details = structs.replace(
        firing.details, judge_shift=-0.3, judge_shift_lower=-0.36, judge_shift_upper=-0.24
    )  # fmt: skip
    shifted = "on the same answers its scores differ by -0.30 from before (95 % interval -0.36 to -0.24)"
    judge = replace(firing, verdict="judge", details=details)
    assert cause(judge) == f"the judge, not the application: {shifted}, which explains the change."
    assert summary(judge).endswith("since 2026-11-20 09:30 UTC: the judge changed, not the application")
    for verdict, words in (
        ("both", ": the judge changed, and the application too"),
        ("system", ": its judge is unchanged"),
    ):
        assert summary(replace(firing, verdict=verdict)).endswith(f"since 2026-11-20 09:30 UTC{words}")
    without_judge = structs.replace(firing.details, can_drift=False)
    assert "judge" not in summary(replace(firing, verdict="system", details=without_judge))
    assert cause(replace(judge, verdict="system")) == f"{NOT_THE_JUDGE}; {shifted}."
    assert cause(replace(judge, verdict="both")).startswith("the judge, and the application, ")
    assert cause(replace(judge, verdict="undecided")).startswith("undecided between the application and the judge: ")
    measured = replace(firing, verdict="system", details=structs.replace(firing.details, can_drift=False))
    assert cause(measured) == "the application, its documents or the questions changed."
    assert "release mark" not in description(judge, "")


def test_a_drop_is_an_interval_of_so_many_conversations(firing: AlertChange) -> None:
    """The first estimate is too large, so it says by how much at least; one that may be nothing says nothing."""
    details = structs.replace(
        firing.details, drop_lower=0.24, drop_upper=0.53, since_observations=140, reference_observations=3200
    )
    change = replace(firing, details=details)
    assert " fell from 0.80 to 0.41 (surely by at least 0.24) since " in summary(change)
    assert description(change, "").splitlines()[0] == (
        "What: the mean of “answer words found in the documents” (higher is better) fell from 0.80 in the "
        "reference (3,200 "
        "conversations) to 0.41 (95 % interval 0.30 to 0.52, 140 conversations) (surely by at least 0.24)."
    )
    unsure = replace(firing, details=structs.replace(details, drop_lower=-0.01, since_observations=1))
    assert "fell from 0.80 to 0.41 since" in summary(unsure)
    assert "(95 % interval 0.30 to 0.52, 1 conversation)" in description(unsure, "")


def test_a_summary_says_which_part_failed_in_how_many(firing: AlertChange) -> None:
    """The most frequent of all that are known; not where only the judge changed."""
    details = structs.replace(firing.details, failed_parts={"generation": 2, "retrieval": 22})
    failed = replace(firing, details=details)
    assert summary(failed).endswith(
        " since 2026-11-20 09:30 UTC. Retrieval failed in 22 of 24 wrong answers that could be checked"
    )
    assert "Retrieval" not in summary(replace(failed, verdict="judge"))


def test_the_end_of_an_alert_says_how_good_it_is_again(firing: AlertChange) -> None:
    """The text of a resolved alert names the alert by its beginning and gives the mean since the recovery."""
    end = replace(
        firing, change="resolved", changed_at=datetime(2026, 11, 21, 8, tzinfo=UTC),
        current_mean=0.79, current_lower=0.7, current_upper=0.86,
    )  # fmt: skip
    assert summary(end) == "apps/rag: “answer words found in the documents”: back at 0.79"
    assert description(end, "").splitlines() == [
        "Over: the alert on “answer words found in the documents” of deployment apps/rag, found at 2026-11-20 12:00 "
        "UTC, closed at 2026-11-21 08:00 UTC.",
        "What: the mean is 0.79 again (95 % interval 0.70 to 0.86); in the reference it was 0.80.",
        "Look at: the overview page of dialwatch",
    ]


def test_an_alert_that_was_withdrawn_says_why(firing: AlertChange) -> None:
    """Without a mean since the recovery the reason stands in its place."""
    end = replace(firing, change="resolved", current_mean=None, reason="other settings", details=AlertDetails())
    assert summary(end) == "apps/rag: “answer words found in the documents”: alert is over; other settings"
    assert "Why: other settings." in description(end, "")


def test_the_segment_that_fell_most_is_named_with_what_came_from_the_mix(firing: AlertChange) -> None:
    """Its name, share and means stand below where, and both parts of the change."""
    most = SegmentChange("language ru", 0.2, 0.25, 0.6, 0.2)
    details = structs.replace(firing.details, within=-0.31, mix=-0.08, segments=(most,), most_worsened=most)
    assert description(replace(firing, details=details), "").splitlines()[3] == (
        "Most in: language ru, 25 % of the conversations, from 0.60 to 0.20. Of the whole change -0.31 is within such "
        "segments of the traffic, and -0.08 comes from another mix of them, which raises no alert."
    )


def test_a_segment_that_fell_behind_a_better_mix_is_shown_as_a_fall(firing: AlertChange) -> None:
    """Where the mean of all rose although higher is better, the segment is what got worse."""
    most = SegmentChange("language ru", 0.5, 0.15, 0.6, 0.4)
    details = structs.replace(
        firing.details, lower_is_better=False, within=-0.07, mix=0.15, segments=(most,), most_worsened=most
    )  # fmt: skip
    rose = replace(
        firing, reference_mean=0.74, current_mean=0.82, current_lower=0.77, current_upper=0.86, details=details
    )
    assert summary(rose) == (
        "apps/rag: “answer words found in the documents” fell from 0.60 to 0.40 in a part of the traffic, language ru, "
        "since 2026-11-20 09:30 UTC"
    )
    assert description(rose, "").splitlines()[0] == (
        "What: the mean of “answer words found in the documents” (higher is better) fell in a part of the "
        "traffic; that of "
        "all was 0.74 in the reference and is 0.82 (95 % interval 0.77 to 0.86)."
    )


def test_an_alert_that_fires_again_says_first_what_is_new(firing: AlertChange) -> None:
    """A verdict that came later, or the next tier, is news of an alert that the person knows."""
    reason = "the judge's anchors say what changed: the judge, not the application"
    later = replace(firing, changed_at=firing.changed_at + timedelta(hours=3), reason=reason)
    later = replace(later, details=structs.replace(firing.details, fired_at=firing.changed_at))
    assert description(later, "").splitlines()[0] == (
        "Update on an alert that was found at 2026-11-20 12:00 UTC: the judge's anchors say what changed: the judge, "
        "not the application."
    )
    assert not description(firing, "").startswith("News")


def test_the_part_of_the_application_that_failed_is_named(firing: AlertChange) -> None:
    """The most frequent first; the message says how many answers that is."""
    failed = {FailedPart.GENERATION: 1, FailedPart.RETRIEVAL: 9}
    changed = replace(firing, details=structs.replace(firing.details, failed_parts=failed))
    [line] = [line for line in description(changed, "").splitlines() if line.startswith("Part that failed")]
    assert line == (
        "Part that failed: retrieval, in 9 of 10 answers since then that do not agree with ground truth: "
        "retrieval did not find the fact; the others: 1 generation."
    )
    [data] = json.loads(webhook_body([changed], "pager", ""))["data"]
    assert data["failed_parts"] == {"retrieval": 9, "generation": 1}
    assert from_row(to_row(changed)) == changed


def test_a_new_class_of_traffic_is_told_as_that_and_not_as_a_regression(firing: AlertChange) -> None:
    """Its name, share and difference stand in the summary, also after the row was read again, and no other mean."""
    new = NewClass("language uk", 0.31, 0.66, 0.81)
    change = from_row(to_row(replace(firing, details=structs.replace(firing.details, new_class=new))))
    said = "new: language uk, 31 % of traffic, 0.15 lower (0.66; other traffic 0.81)"
    assert summary(change) == f"apps/rag: “answer words found in the documents” got worse in new traffic: {said}"
    text = description(change, "")
    assert (
        text.splitlines()[0] == f"What: a new class of traffic has worse “answer words found in the documents”: {said}."
    )
    assert "fell from" not in text
    assert "Cause: the traffic" in text


@pytest.mark.parametrize(
    ("requests", "people", "refusals", "said"),
    [
        (156, 76, (116, 156), "156 requests of 76 people, 116 answered with a refusal"),
        (200, 0, (1, 180), "200 requests, 1 answered with a refusal"),
        (1_201, 76, (116, 199), "1,201 requests of 76 people, 116 of the latest 199 answered with a refusal"),
        (0, 0, (8, 9), "8 of 9 answers were refusals"),
        (1, 1, None, "1 request of 1 person"),
        (0, 0, None, ""),
    ],
)
def test_refusals_are_counted_beside_the_requests(
    requests: int, people: int, refusals: tuple[int, int] | None, said: str
) -> None:
    """Of more than 200 requests, which are the most that are read, only the latest."""
    counts = RefusalCounts(*refusals, 0, 9) if refusals else None
    assert AffectedCounts(requests, 0, people, refusals=counts).in_words == said
