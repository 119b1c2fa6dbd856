"""Limits at each of their limits, on both sides."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lake.spec.alert_vocabulary import LimitKind, Tier
from lake.spec.case_vocabulary import ReplayVerdict
from lake.spec.schemas import SCORES
from monitor.detect.limits import LastChange, LimitChange, LimitDetails, LimitReading, Limits, LimitSettings
from monitor.detect.limits.callers import RECENT, Callers
from monitor.detect.limits.evidence import has_risen, is_clean, usual_share
from monitor.detect.limits.minute_counts import MinuteCounts, Usual, minute_of
from monitor.detect.limits.no_data import PENDING
from monitor.detect.limits.shares import ShareLimit
from monitor.detect.regression import JudgeReading
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.detect.stats.scores import SCORE_COLUMNS
from tests.monitor.detect.limits.test_shares import MINUTE, NOW, limits_of, logs, requests
from tests.monitor.detect.limits.test_verdict_limits import run

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def callers_of(*calls: tuple[str | None, datetime | None]) -> pa.Table:
    names, times = zip(*calls, strict=True)
    return pa.table(
        {"parent_deployment": pa.array(names, pa.string()), "requested_at": pa.array(times, pa.timestamp("us", "UTC"))}
    )


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=20), st.integers(0, 20), st.integers(0, 9)
)
def test_callers_are_those_since_a_time(calls: list[tuple[str, int]], cut: int, since: int) -> None:
    """By the latest call of each, in whatever portions they come; the time itself is in it."""
    callers = Callers()
    for some in (calls[:cut], calls[cut:]):
        callers.add(callers_of((None, NOW), ("x", None), *((name, NOW + at * MINUTE) for name, at in some)))
    assert callers.since(NOW + since * MINUTE) == {name for name, at in calls if at >= since}


def test_a_thousand_callers_are_remembered() -> None:
    """Those that called last; who called in the last day is a caller."""
    callers = Callers()
    callers.add(callers_of(*((str(number), NOW - number * SECOND) for number in range(1001))))
    assert callers.latest.keys() == {str(number) for number in range(1000)}
    assert timedelta(days=1) == RECENT
    limits = limits_of([{"requested_at": NOW - ago, "parent_deployment": str(ago)} for ago in (DAY, DAY + SECOND)])
    assert limits.callers(NOW) == {"rag": {str(DAY)}}


@pytest.mark.parametrize(
    ("total", "bad", "expected"), [(0, 0, 0.1), (80, 8, 0.1), (80, 9, 0.11), (80, 80, 0.82), (10**6, 0, 0.1)]
)
def test_a_tenth_is_the_least_usual_share(total: int, bad: int, expected: float) -> None:
    """A deployment that nothing is known of has had two bad ones of twenty."""
    assert usual_share(Usual(total, bad)) == pytest.approx(expected)


UNKNOWN = Usual()


def risen(shares: list[float], usual: Usual = UNKNOWN, limit: float = 0.3, apart: int = 60) -> int | None:
    """Which minute is the first with a share that has risen."""
    minutes = np.arange(len(shares), dtype=np.int64) * apart
    found = np.flatnonzero(has_risen(minutes, np.array(shares), usual, limit))
    return int(found[0]) if found.size else None


def test_a_share_has_risen_beyond_chance_or_not() -> None:
    """After as many bad minutes as a year of them takes; more where there are more minutes in a day."""
    assert risen([1.0] * 3) is None
    first = risen([0.0] * 30 + [1.0] * 12)
    assert first is not None
    assert 33 <= first < 40
    many = [0.0] * 1000 + [1.0] * 30
    busy, calm = risen(many, apart=1), risen(many, apart=60)
    assert busy is not None
    assert calm is not None
    assert busy > calm
    assert risen([0.0] * 30 + [0.0, 1.0] * 20) is not None
    assert risen([0.0] * 30 + [0.0, 1.0] * 1 + [0.0, 1.0] * 1) is None
    assert risen([0.0] * 30 + [1.0] * 12, limit=0.1) is None
    assert risen([0.0] * 30 + [1.0] * 12, limit=0.11) is not None
    assert risen([0.0] * 30 + [1.0] * 12, Usual(80, 80), limit=0.9) is None


@pytest.mark.parametrize("number", [7, 8, 9])
def test_eight_minutes_without_a_bad_one_are_clean(number: int) -> None:
    """With themselves; a bad one before them counts no more."""
    assert is_clean(np.zeros(number)).tolist() == [place >= 7 for place in range(number)]
    assert is_clean(np.array([0.1] + [0.0] * number)).tolist() == [place >= 8 for place in range(number + 1)]


def look(
    bad: list[bool], last: LastChange | None = None, now: datetime = NOW, each: int = 1, **settings: Any
) -> tuple[list[LimitChange], LimitReading]:
    """A limit of 30 %, over minutes before NOW, each with some requests; reasons are by their minute."""
    minutes = MinuteCounts()
    times = [NOW - ago * MINUTE for ago in range(len(bad), 0, -1) for _ in range(each)]
    flags = np.repeat(np.array(bad), each)
    why = ["503" if number % 2 else "429" for number in range(len(times))]
    at = pa.chunked_array([pa.array(times, pa.timestamp("us", "UTC"))])
    minutes.add(at, flags, pa.chunked_array([pa.array(why)]), NOW)
    given = LimitSettings(**{"minimum_requests": 20, "window": "20m"} | settings)
    return ShareLimit("rag", LimitKind.ERRORS, 0.3, given).look(minutes, last, now)


@pytest.mark.parametrize(("bad", "fires"), [(5, False), (6, True)])
def test_a_share_fires_at_its_limit_with_all_its_numbers(bad: int, fires: bool) -> None:
    """Exactly 30 % are enough, and so are exactly 20 requests; of two reasons as frequent the greater is told."""
    changes, reading = look([False] * (20 - bad) + [True] * bad)
    assert (reading.active, reading.share, reading.limit, reading.unjudged) == (fires, bad / 20, 0.3, None)
    if not fires:
        assert changes == []
        return
    assert changes == [
        LimitChange(
            "rag", LimitKind.ERRORS, "firing", NOW - MINUTE, "the share reached its limit", NOW - 6 * MINUTE,
            LimitDetails(
                share=0.3, limit=0.3, ends_at=0.15, requests=20, bad=6, in_a_row=6, window_seconds=1200.0, mostly="503",
                page_after_seconds=3600.0,
            ),
            Tier.WARN,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("minutes", "after", "found"),
    [
        (59, "1h", [("firing", "warn"), ("resolved", "page")]),
        (60, "1h", [("firing", "warn"), ("resolved", "page")]),
        (61, "1h", [("firing", "warn"), ("firing", "page"), ("resolved", "page")]),
        (200, "1h", [("firing", "warn"), ("firing", "page"), ("resolved", "page")]),
        (21, "20m", [("firing", "warn"), ("firing", "page"), ("resolved", "page")]),
        (200, "0s", [("firing", "page"), ("resolved", "page")]),
    ],
)
def test_an_outage_is_a_page_once_it_lasts(minutes: int, after: str, found: list[tuple[str, str]]) -> None:
    """Counted from the first bad one; a look from the begin of the alert on finds the same."""
    bad = [False] * 60 + [True] * minutes + [False] * 60
    changes, _ = look(bad, each=2, page_after=after)
    assert [(one.change, one.tier) for one in changes] == found
    begin = changes[0]
    assert look(bad, LastChange(True, begin.at, begin.tier), each=2, page_after=after)[0] == changes[1:]
    if len(found) == 3:
        raised, length = changes[1], timedelta(hours=1) if after == "1h" else timedelta(minutes=20)
        assert begin.since is not None
        assert (raised.since, raised.at) == (begin.since, begin.since + length)
        assert raised.details is not None
        assert raised.details.lasted_seconds == length.total_seconds() + 60


def test_what_fails_later_does_not_make_a_short_outage_long() -> None:
    """A single bad minute while the alert is open, and another short outage after its end."""
    single = [False] * 60 + [True] * 50 + [False] * 11 + [True] + [False] * 60
    twice = [False] * 60 + [True] * 30 + [False] * 40 + [True] * 30 + [False] * 60
    assert [(one.change, one.tier) for one in look(single)[0] if one.change == "firing"] == [("firing", "warn")]
    found = [(one.change, one.tier) for one in look(twice)[0] if one.change == "firing"]
    assert found == [("firing", "warn")] * 2


def test_what_is_found_late_and_has_lasted_is_a_page_at_once() -> None:
    """A bad one every 20 minutes, five of them."""
    minutes = MinuteCounts()
    at = pa.chunked_array([pa.array([NOW - ago * MINUTE for ago in range(100, 0, -20)], pa.timestamp("us", "UTC"))])
    minutes.add(at, np.ones(5, np.bool_), pa.chunked_array([pa.array(["503"] * 5)]), NOW)
    settings = LimitSettings(minimum_requests=5)
    (begin,) = ShareLimit("rag", LimitKind.ERRORS, 0.3, settings).look(minutes, None, NOW)[0]
    assert (begin.tier, begin.since) == ("page", NOW - 100 * MINUTE)
    (other,) = ShareLimit("rag", LimitKind.REFUSALS, 0.3, settings).look(minutes, None, NOW)[0]
    assert other.tier == "page"


@pytest.mark.parametrize(("good", "is_over"), [(0, False), (17, True), (16, False)])
def test_a_share_is_over_at_half_of_its_limit(good: int, is_over: bool) -> None:
    """Exactly 15 % are enough; the end says since when it was bad, for how long, and how many were."""
    changes, reading = look([True] * 20 + [False] * good, LastChange(True, NOW - (good + 1) * MINUTE))
    assert reading.active is not is_over
    if is_over:
        (over,) = changes
        assert (over.change, over.reason) == ("resolved", "the share fell to half its limit")
        assert over.since == NOW - (20 + good) * MINUTE
        assert over.details == LimitDetails(
            share=0.15, limit=0.3, ends_at=0.15, requests=20, bad=3, window_seconds=1200.0, mostly=over.details.mostly,
            lasted_seconds=1200.0,
            bad_meanwhile=20,
            requests_meanwhile=20,
        )  # fmt: skip


def test_few_requests_are_a_share_of_a_longer_time() -> None:
    """With the minutes of its window, both ends in it; too few are none."""
    _, reading = look([False] * 19)
    assert (reading.share, reading.unjudged) == (
        None, "too few for a share: 19 of 20 within a day; many bad ones in a row still fire",
    )  # fmt: skip
    (fires,), _ = look([False] * 14 + [True] * 6, window="5m")
    assert fires.details is not None
    assert fires.details.window_seconds == 20 * 60
    (others,), _ = look([True] * 8, minimum_requests=20)
    assert others.reason == "far more than usual, at few requests"
    assert others.details is not None
    assert (others.details.usual, others.details.in_a_row) == (0.1, others.details.requests)


@pytest.mark.parametrize(
    ("hours", "fired_ago", "expected"),
    [(24, 1, None), (24.1, 1, NOW - MINUTE + DAY), (30, 1, NOW - MINUTE + DAY), (60, -25, NOW + 25 * HOUR + MINUTE)],
)
def test_an_alert_is_over_a_day_after_the_last_request(
    hours: float, fired_ago: float, expected: datetime | None
) -> None:
    """And after its own beginning."""
    now = NOW - MINUTE + hours * HOUR
    changes, reading = look([True] * 30, LastChange(True, NOW - fired_ago * HOUR), now)
    assert reading.active is (expected is None)
    assert [(one.at, one.reason, one.since) for one in changes] == (
        [] if expected is None else [(expected, "no request for a day", None)]
    )
    nothing, _ = ShareLimit("rag", LimitKind.ERRORS, 0.3, LimitSettings()).look(
        MinuteCounts(), LastChange(True, NOW), NOW
    )
    assert [one.at for one in nothing] == [NOW]


@pytest.mark.parametrize(("hours", "fires"), [(23.9, True), (24.0, False)])
def test_only_the_last_day_is_judged(hours: float, fires: bool) -> None:
    """By the clock, to the minute; what is older is said to be."""
    now = NOW - MINUTE + hours * HOUR
    changes, reading = look([False] * 14 + [True] * 6, now=now)
    assert bool(changes) is fires
    assert reading.unjudged == (None if fires else "the newest is older than a day: 2026-11-20 11:59 UTC")


def test_nothing_up_to_the_last_change_is_judged_again() -> None:
    """Its own minute neither."""
    bad = [False] * 14 + [True] * 6
    assert look(bad, LastChange(False, NOW - MINUTE))[0] == []
    assert len(look(bad, LastChange(False, NOW - 2 * MINUTE))[0]) == 1


def counted(*ago: float, why: str | None = "503") -> MinuteCounts:
    minutes = MinuteCounts()
    for one in ago:
        at = pa.chunked_array([pa.array([NOW - one * MINUTE], pa.timestamp("us", "UTC"))])
        minutes.add(at, np.array([True]), pa.chunked_array([pa.array([why])]), NOW)
    return minutes


def test_what_is_older_than_two_days_is_usual() -> None:
    """To the minute, also where it was counted by minute before."""
    assert counted(2 * 1440, 1).usual == Usual()
    assert counted(2 * 1440 + 1, 1).usual == Usual(1, 1)
    minutes = counted(2 * 1440, 1440)
    later = pa.chunked_array([pa.array([NOW + MINUTE], pa.timestamp("us", "UTC"))])
    minutes.add(later, np.array([False]), pa.chunked_array([pa.array([None], pa.string())]), NOW + MINUTE)
    assert minutes.usual == Usual(1, 1)
    found = minutes.windows(DAY, 1, NOW + MINUTE)
    assert minute_of(NOW - DAY) in found.ends
    assert minutes.reasons(0, 10**9) == {"503": 1}


def test_reasons_and_the_begin_of_what_is_bad_are_of_a_stretch_with_its_ends() -> None:
    """One without a bad minute begins with itself; an unknown reason is none."""
    last = minute_of(NOW)
    minutes = counted(5, 3, 1)
    for first, end, number, begins in [(5, 1, 3, 5), (4, 2, 1, 3), (5, 5, 1, 5), (4, 4, 0, 4), (9, 6, 0, 9)]:
        assert minutes.reasons(last - first, last - end).total() == number
        assert minutes.begin_of_bad(last - first, last - end, 0.3) == last - begins
    assert counted(1, why=None).reasons(0, last) == {}
    assert counted(1, why=None).begin_of_bad(0, last, 0.3) == last - 1


def test_what_fails_now_and_then_before_an_outage_is_not_of_it() -> None:
    """One in ten, and then all: its begin is told, and so its length."""
    bad = [number % 10 == 0 for number in range(60)] + [False, True] + [True] * 50 + [False] * 60
    begin, end = look(bad)[0]
    assert begin.since == NOW - (60 + 51) * MINUTE
    assert end.details is not None
    assert end.details.lasted_seconds == 51 * 60


def test_requests_in_a_row_that_were_all_bad_end_with_a_minute_that_has_a_good_one() -> None:
    """Counted in whole minutes."""
    minutes = MinuteCounts()
    at = [NOW - ago * MINUTE for ago in (4, 4, 3, 2, 2, 1)]
    bad = np.array([True, True, False, True, False, True])
    times = pa.chunked_array([pa.array(at, pa.timestamp("us", "UTC"))])
    minutes.add(times, bad, pa.chunked_array([pa.array([None] * 6, pa.string())]), NOW)
    assert minutes.windows(DAY, 1, NOW).in_a_row.tolist() == [2, 0, 0, 1]
    assert minutes.windows(DAY, 1, NOW).shares.tolist() == [1.0, 0.0, 0.5, 1.0]
    assert len(minutes.windows(DAY, 1, NOW - 2 * MINUTE).ends) == 3


def test_scores_count_by_when_they_were_made_or_asked_for() -> None:
    """Those of the last two days, by either; a refusal is any value above 0."""
    old, new = NOW - 2 * DAY - MINUTE, NOW - MINUTE
    for requested, scored, number in [(new, new, 1), (old, new, 1), (new, old, 1), (old, old, 0)]:
        limits = Limits(LimitSettings())
        rows = [
            {"metric": "refusal", "value": 0.5, "judge": "lexical", "requested_at": requested, "scored_at": scored},
            {"metric": "m", "value": None, "reason": "judge_timeout", "judge": "gpt", "requested_at": requested,
             "scored_at": scored},
        ]  # fmt: skip
        limits.add_scores("rag", SCORES.rows(rows).select(SCORE_COLUMNS), NOW)
        counts = limits.counts_of("rag")
        assert counts is not None
        found = [counts.minutes[kind] for kind in (LimitKind.REFUSALS, LimitKind.UNSCORED)]
        at = minute_of(requested), minute_of(scored)
        assert [one.windows(DAY, 1, NOW).bad.tolist() for one in found] == [
            [1] if number and time == minute_of(new) else [] for time in at
        ]


def test_a_deployment_without_an_answer_is_not_missed() -> None:
    """Anybody may try a name once; a limit that is switched off ends its alert, a silence too."""
    failing = [{"requested_at": NOW - ago * MINUTE, "status": 404} for ago in range(15 * 1440, 120, -10)]
    limits = limits_of(failing)
    limits.look({}, NOW - PENDING)
    changes, readings = limits.look({}, NOW)
    assert [one for one in changes if one.kind == LimitKind.NO_DATA] == []
    assert readings["rag"][LimitKind.NO_DATA].unjudged == "no request has been answered yet"
    open_alert: Any = {("rag", LimitKind.NO_DATA): LastChange(True, NOW)}
    assert limits.look(open_alert, NOW)[1]["rag"][LimitKind.NO_DATA] == LimitReading(True)
    silent = limits_of([{"requested_at": NOW - ago * MINUTE} for ago in range(15 * 1440, 120, -10)])
    over: Any = {("rag", LimitKind.NO_DATA): LastChange(False, NOW - DAY)}
    silent.look(over, NOW - PENDING)
    assert [one.kind for one in silent.look(over, NOW)[0]] == [LimitKind.NO_DATA]
    off = LimitSettings(no_data=None, replay=False, judge_drift=False)
    limits = limits_of(requests(30, 0, 4), off)
    last: Any = {
        ("rag", kind): LastChange(True, NOW) for kind in (LimitKind.NO_DATA, LimitKind.REPLAY, LimitKind.JUDGE_DRIFT)
    }
    last |= {("rag", LimitKind.ERRORS): LastChange(False, NOW - HOUR)}
    changes, readings = limits.look(last, NOW)
    assert sorted((one.kind, one.at, one.reason) for one in changes) == sorted(
        (kind, NOW, "this limit is switched off")
        for kind in (LimitKind.NO_DATA, LimitKind.REPLAY, LimitKind.JUDGE_DRIFT)
    )
    assert LimitKind.NO_DATA not in readings["rag"]
    changed: Any = {"rag": {"m": JudgeReading(None, True, NOW, NOW, None, None)}}
    assert limits.look_at_judges(changed, {}) == []
    assert len(Limits(LimitSettings()).look_at_judges(changed, {})) == 1
    fallen = {"rag": run(ReplayVerdict.REGRESSION)}
    assert limits.look_at_replays(fallen, {}) == []
    assert len(Limits(LimitSettings()).look_at_replays(fallen, {})) == 1
    later = limits_of([{"requested_at": NOW - HOUR}])
    for ago in (3, 2):
        again = logs([{"requested_at": NOW - ago * HOUR}])
        later.add_logs("rag", again.select(LOG_COLUMNS), NOW)
        counts = later.counts_of("rag")
        assert counts is not None
        assert counts.answered_since == NOW - 3 * HOUR
    (early, late) = (limits_of([{"requested_at": NOW - ago * HOUR}]) for ago in (2, 1))
    assert early.counts_of("rag").answered_since == NOW - 2 * HOUR
    assert late.counts_of("rag").answered_since == NOW - HOUR


def test_settings_have_the_documented_defaults() -> None:
    """And ranges."""
    found = LimitSettings()
    assert (found.errors, found.empty_answers, found.refusals, found.unscored, found.no_data) == (
        0.3,
        0.3,
        0.5,
        0.5,
        3.0,
    )
    assert (found.replay, found.judge_drift, found.window, found.minimum_requests) == (True, True, 15 * MINUTE, 50)
    wrong = {"errors": 0.0, "refusals": 1.1, "no_data": 0.9, "window": "59s", "minimum_requests": 0, "error": 0.1}
    for name, value in (wrong | {"window": "721m"}).items():
        with pytest.raises(ValidationError):
            LimitSettings.model_validate({name: value})


@pytest.mark.parametrize(("is_entry", "number"), [(True, 1), (False, 0), (None, 0)])
def test_only_answers_that_a_person_is_known_to_have_seen_are_empty(is_entry: bool | None, number: int) -> None:
    """A call of another application, or one of which that is not known, is none."""
    counts = limits_of(
        [{"requested_at": NOW - MINUTE, "is_entry": is_entry, "answer": "", "finish_reason": "stop"}]
    ).counts_of("rag")
    assert counts is not None
    assert counts.minutes[LimitKind.EMPTY_ANSWERS].windows(DAY, 1, NOW).bad.sum() == number
