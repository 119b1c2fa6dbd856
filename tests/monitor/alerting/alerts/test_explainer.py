"""Which alerts are looked into for what else changed: some in a refresh, one of a deployment, none that is old."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from lake.queries.affected import Affected
from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.alerting.alerts import explainer as module
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.alerts.explainer import MOST_AT_ONCE, MOST_COUNTED, Explainer
from monitor.detect.causes import AffectedCounts, AroundOnset, OnsetInterval, RefusalCounts
from monitor.detect.regression import StreamKey, Transition
from tests.monitor.notify.test_notifier import HOUR, START, transition

FOUND = AroundOnset(answers=9)
Look = Callable[..., AroundOnset | None]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, OnsetInterval]]:
    """Every look at the log: whose, and around when."""
    made: list[tuple[str, OnsetInterval]] = []

    def around(_: Lake, deployment: str, onset: OnsetInterval, *__: Any) -> AroundOnset:
        made.append((deployment, onset))
        return FOUND

    monkeypatch.setattr(module, "around_onset", around)
    monkeypatch.setattr("monitor.detect.causes.CallersOfDays.around", lambda *_: {})
    return made


def began(deployment: str = "rag", since: Any = START, **reading: Any) -> Transition:
    fired = transition(deployment=deployment)
    return replace(fired, reading=replace(fired.reading, since=since, **reading))


def of(fired: Transition, change: Any, hour: int, around: AroundOnset | None = None, alert: str = "a") -> AlertChange:
    details = msgspec.structs.replace(AlertDetails(), around_onset=around)
    return AlertChange(f"{alert} {change}", alert, fired.key, change, START + hour * HOUR, details)


def test_one_of_a_deployment_and_five_in_all_are_looked_at_in_a_refresh(
    lake: Lake, looks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next refresh looks at more, and reads again who calls whom."""
    explainer, forgotten = Explainer(lake), list[int]()
    monkeypatch.setattr("monitor.detect.causes.CallersOfDays.forget", lambda _: forgotten.append(1))
    assert MOST_AT_ONCE == 5
    for _ in range(2):
        explainer.begin()
        names = [f"{number}" for number in range(MOST_AT_ONCE + 2)]
        found = [explainer.around(began(name), [], [], START) for name in (*names, *names) for _ in range(2)]
        assert found.count(FOUND) == MOST_AT_ONCE
        assert [name for name, _ in looks] == names[:MOST_AT_ONCE]
        looks.clear()
    assert len(forgotten) == 2


@pytest.mark.parametrize(("hours", "is_looked_at"), [(47, True), (48, True), (49, True), (49.1, False)])
def test_an_alert_of_history_is_not_looked_at(lake: Lake, looks: list[Any], hours: float, is_looked_at: bool) -> None:
    """It began at one o'clock: two days later nobody is woken by it."""
    found = Explainer(lake).around(began(), [], [], START + timedelta(hours=hours))
    assert (found is FOUND, len(looks)) == (is_looked_at, int(is_looked_at))


def test_an_onset_that_is_not_known_is_not_looked_at(lake: Lake, looks: list[Any]) -> None:
    """One whose interval is known is looked at with it."""
    explainer = Explainer(lake)
    assert explainer.around(began(since=None), [], [], START) is None
    assert looks == []
    earliest, latest = START - HOUR, START + HOUR
    explainer.around(began(since_earliest=earliest, since_latest=latest), [], [], START)
    explainer.around(began("hr"), [], [], START)
    assert [onset for _, onset in looks] == [OnsetInterval(START, earliest, latest), OnsetInterval(START, START, START)]


def test_what_an_open_alert_says_already_is_not_looked_at_again(lake: Lake, looks: list[Any]) -> None:
    """Nor what is recorded already; one that is over, or that says nothing, keeps none from a look."""
    fired = began()
    known = {
        "recorded": ([of(fired, "firing", 1)], False),
        "before": ([of(fired, "firing", 0)], True),
        "open": ([of(fired, "firing", 0, FOUND)], False),
        "over": ([of(fired, "firing", 0, FOUND), of(fired, "resolved", 0)], True),
        "another, open": ([of(fired, "firing", 0, FOUND), of(fired, "resolved", 0, alert="b")], False),
        "another, later": ([replace(of(fired, "firing", 5), key=StreamKey("rag", "other", "1"))], True),
        "delivered": ([of(fired, "delivered", 5, FOUND)], True),
    }
    for name, (changes, is_looked_at) in known.items():
        assert (Explainer(lake).around(fired, changes, [], START) is FOUND) is is_looked_at, name


def test_who_asked_since_the_onset_is_counted_once_for_each_alert(lake: Lake) -> None:
    """Of 7 days at most; none of history, of what is recorded, and of an onset that is not known."""
    ages = (0, 1, 2, 24 * 8, 24 * 10)
    asked = [{"event_id": f"e{n}", "user_id": f"u{n % 2}", "chat_id": f"c{n}"} for n in range(len(ages))]
    at = [{"requested_at": START - age * HOUR, "date": (START - age * HOUR).date()} for age in ages]
    seen = {"kind": "chat_completion", "status": 200, "is_entry": True, "deployment": "rag"}
    rows = [one | when | seen for one, when in zip(asked, at, strict=True)]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    explainer, now = Explainer(lake), START + HOUR
    fired = began(since=START - HOUR)
    assert explainer.affected(fired, [], now) == AffectedCounts(2, 2, 2)
    assert explainer.affected(began(since=START - 24 * 9 * HOUR), [], now) == AffectedCounts(3, 3, 2)
    assert explainer.affected(fired, [of(fired, AlertEvent.FIRING, -1)], now) == AffectedCounts(2, 2, 2)
    assert explainer.affected(fired, [of(fired, AlertEvent.FIRING, 1)], now) is None
    assert explainer.affected(began(since=None), [], now) is None
    assert explainer.affected(fired, [], START + 50 * HOUR) is None


def test_who_asked_after_the_time_of_the_change_does_not_count(lake: Lake) -> None:
    """A day that is read late has answers of after the alert: "when this was found" there were fewer."""
    seen = {"kind": "chat_completion", "status": 200, "is_entry": True, "deployment": "rag"}
    at = [START + hour * HOUR for hour in (0, 0.5, 1.5, 5)]
    rows = [seen | {"event_id": f"e{n}", "requested_at": one, "date": one.date()} for n, one in enumerate(at)]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    fired = began(since=START)
    assert fired.at == START + HOUR
    assert Explainer(lake).affected(fired, [], START + 10 * HOUR) == AffectedCounts(2, 0, 0)


def test_an_end_counts_who_asked_until_quality_was_back(lake: Lake) -> None:
    """Not until the alert was over, which takes evidence; where that is not known until the alert was over."""
    seen = {"kind": "chat_completion", "status": 200, "is_entry": True, "deployment": "rag"}
    at = [START + hour * HOUR for hour in (0, 1, 2, 3, 4, 5)]
    rows = [seen | {"event_id": f"e{n}", "requested_at": one, "date": one.date()} for n, one in enumerate(at)]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    known = [of(began(since=START), AlertEvent.FIRING, 1)]
    for back, requests in ((START + 3 * HOUR, 3), (None, 5)):
        end = replace(began(since=START, recovering_since=back), change=AlertEvent.RESOLVED, at=START + 5 * HOUR)
        assert Explainer(lake).affected(end, known, START + 10 * HOUR) == AffectedCounts(requests, 0, 0)


def test_who_asked_is_counted_once_an_onset_and_twenty_times_in_a_refresh(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alerts are recorded after it: many that begin together do not wait for the log of each."""
    counted: list[Any] = []

    def count(*asked: Any) -> Affected:
        counted.append(asked)
        return Affected(asked[2], 1, 1, 1, 0, ())

    monkeypatch.setattr(module, "affected", count)
    explainer, now = Explainer(lake), START + HOUR
    explainer.begin()
    same = [explainer.affected(began(since=START), [], now) for _ in range(3)]
    others = [explainer.affected(began(since=START - number * HOUR), [], now) for number in range(1, 23)]
    assert same == [AffectedCounts(1, 1, 1)] * 3
    assert others == [AffectedCounts(1, 1, 1)] * 19 + [None] * 3
    assert len(counted) == MOST_COUNTED == 20
    explainer.begin()
    assert explainer.affected(began(since=START - 7 * HOUR), [], now) == AffectedCounts(1, 1, 1)


def test_what_stands_out_is_kept_with_the_counts_and_names_no_document(lake: Lake) -> None:
    """By the scores of the alert's own metric; of shares of dislikes there are none."""
    fired = began(reference_mean=0.8)
    logs, scores = [], []
    for count, value, project in ((30, 0.0, "hr"), (60, 1.0, "legal")):
        for number in range(count):
            at = START + timedelta(seconds=number)
            place = {"event_id": f"{value} {number}", "requested_at": at, "date": at.date()}
            seen = {"kind": "chat_completion", "status": 200, "is_entry": True}
            seen |= {"project_id": project, "client": f"{project}-bot"}
            logs.append(place | seen | {"contexts": [{"text": "x", "title": f"{project}.pdf"}]})
            segment = msgspec.json.encode({"language": "de" if project == "hr" else "en"}).decode()
            scores.append(place | {"score_id": place["event_id"], "value": value, "scored_at": at, "segment": segment})
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(logs))
    metric = {"metric": fired.key.metric, "metric_version": fired.key.metric_version}
    lake.table(SCORES, "rag").append(SCORES.rows([one | metric for one in scores]))
    explainer = Explainer(lake)
    counts = explainer.affected(fired, [], START + HOUR)
    assert counts is not None
    assert counts.requests == 90
    counts = msgspec.structs.replace(counts, stands_out=explainer.standing_out(fired, START + HOUR))
    assert [(one.kind, one.name, one.worst, one.good) for one in counts.stands_out] == [
        ("project", "hr", 30, 0),
        ("client", "hr-bot", 30, 0),
        ("language", "de", 30, 0),
        ("document", "", 30, 0),
    ]
    assert msgspec.json.decode(msgspec.json.encode(counts), type=AffectedCounts) == counts
    of_dislikes = replace(fired, key=replace(fired.key, metric=DISLIKES))
    assert explainer.standing_out(of_dislikes, START + HOUR) == ()
    other = replace(fired, key=replace(fired.key, metric="other"))
    assert explainer.standing_out(other, START + HOUR) == ()
    older = replace(fired, key=replace(fired.key, metric_version="0"))
    assert explainer.standing_out(older, START + HOUR) == ()
    assert explainer.standing_out(fired, START + HOUR) == counts.stands_out


def test_reads_that_fail_are_bounded_too(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many of each kind in a refresh, whatever comes of them, and none twice."""
    reads: list[str] = []

    def fail(what: str) -> Callable[..., None]:
        def read(*_: Any) -> None:
            reads.append(what)
            raise OSError("the store is away")

        return read

    monkeypatch.setattr(module, "affected", fail("counts"))
    monkeypatch.setattr(module, "read_compared", fail("answers"))
    explainer, now = Explainer(lake), START + HOUR
    for refresh in (1, 2):
        explainer.begin()
        for number in range(MOST_COUNTED + 3):
            fired = began(since=START - number * HOUR, reference_mean=0.8)
            for _ in range(2):
                for look in (partial(explainer.affected, fired, [], now), partial(explainer.standing_out, fired, now)):
                    with suppress(OSError):
                        look()
        assert [reads.count(what) for what in ("counts", "answers")] == [refresh * MOST_COUNTED, refresh * MOST_AT_ONCE]


@pytest.mark.parametrize(
    ("before", "since", "counted"),
    [
        (0, 6, (6, 10, 0, 10)),
        (2, 6, (6, 10, 2, 10)),
        (4, 6, None),
        (0, 4, None),
        (9, 10, None),
    ],
)
def test_refusals_are_counted_where_most_answers_are_some_and_fewer_were(
    before: int, since: int, counted: tuple[int, ...] | None, lake: Lake
) -> None:
    """At least half of those since the onset, and a quarter more than before."""
    rows = []
    for number in range(20):
        hours, refuses = (-1, number < before) if number < 10 else (1, number - 10 < since)
        at = START + hours * HOUR + timedelta(minutes=number)
        answer = "I don't know." if refuses else "It is 30 days."
        row = {"event_id": str(number), "requested_at": at, "date": at.date(), "kind": "chat_completion"}
        rows.append(row | {"is_entry": True, "status": 200, "answer": answer})
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    explainer = Explainer(lake)
    found = explainer.refusals(replace(began(), at=START + 5 * HOUR), START + 5 * HOUR)
    assert found == (RefusalCounts(*counted) if counted else None)
    assert explainer.refusals(began(since=None), START + 5 * HOUR) is None
    assert explainer.refusals(began("silent"), START + 5 * HOUR) is None
