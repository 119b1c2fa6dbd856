from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.schemas import PARSED_LOGS, SCORES
from monitor.detect.limits import ANSWER_COLUMNS, DeploymentLimits, LastChange, LimitChange, Limits, LimitSettings
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.detect.stats.scores import SCORE_COLUMNS

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SETTINGS = LimitSettings(minimum_requests=20)


def logs(rows: Sequence[dict[str, Any]]) -> pa.Table:
    defaults = {"status": 200, "is_entry": True, "answer": "Yes."}
    return PARSED_LOGS.rows([defaults | row for row in rows])


def requests(first: int, last: int, each: int, **columns: Any) -> list[dict[str, Any]]:
    """So many a minute, from one minute before now to another."""
    return [{"requested_at": NOW - ago * MINUTE, **columns} for ago in range(first, last, -1) for _ in range(each)]


def limits_of(rows: Sequence[dict[str, Any]], settings: LimitSettings = SETTINGS, name: str = "rag") -> Limits:
    limits = Limits(settings)
    table = logs(rows)
    limits.add_logs(name, table.select(LOG_COLUMNS), NOW)
    answers = pa.dataset.dataset(table).to_table(columns=ANSWER_COLUMNS)
    limits.add_answers(name, answers, NOW)
    return limits


def minutes_ago(changes: Sequence[LimitChange]) -> list[tuple[str, str, int]]:
    return [(change.kind, change.change, int((NOW - change.at) / MINUTE)) for change in changes]


def test_a_share_of_errors_fires_and_is_over_at_half_of_it() -> None:
    """It fires in the minute in which 30 % of the quarter of an hour failed, with its numbers."""
    rows = [*requests(200, 60, 4), *requests(60, 40, 4, status=503), *requests(40, 0, 4)]
    begin, end = limits_of(rows).look({}, NOW)[0]
    assert minutes_ago([begin, end]) == [("errors", "firing", 56), ("errors", "resolved", 28)]
    assert begin.since == NOW - 60 * MINUTE
    assert begin.details is not None
    assert (begin.details.bad, begin.details.requests, begin.details.mostly) == (20, 60, "503")
    assert begin.details.window_seconds == 900
    assert end.details is not None
    assert (end.details.bad, end.details.requests) == (8, 60)
    assert end.details.lasted_seconds == 20 * 60
    assert end.details.bad_meanwhile == 80


def test_an_end_says_how_long_it_was_bad_however_it_was_found() -> None:
    """From the first bad one to the last: of an alert that an earlier look or process has found, too."""
    rows = [*requests(500, 400, 4), *requests(400, 350, 4, status=503), *requests(350, 120, 4)]
    rows += [*requests(120, 90, 4, status=503), *requests(90, 0, 4)]
    every = limits_of(rows).look({}, NOW)[0]
    assert [one.details and one.details.lasted_seconds for one in every] == [None, 50 * 60, None, 30 * 60]
    (end,) = limits_of(rows).look({("rag", LimitKind.ERRORS): LastChange(True, every[2].at)}, NOW)[0]
    assert end == every[3]
    # What was counted when it fired is forgotten.
    rows = [*requests(1000, 30, 1, status=503), *requests(30, 0, 1)]
    (_, end) = limits_of(rows).look({("rag", LimitKind.ERRORS): LastChange(True, NOW - timedelta(days=4))}, NOW)[0]
    assert end.details is not None
    assert end.details.lasted_seconds == (4 * 24 * 60 - 30) * 60
    assert end.details.bad_meanwhile is None


def test_few_requests_are_waited_for_and_not_taken_for_a_share() -> None:
    """With one request every ten minutes the stretch is as long as it takes to have 20, and no longer than a day."""
    rows = [{"requested_at": NOW - ago * MINUTE, "status": 500 if ago <= 60 else 200} for ago in range(1200, 0, -10)]
    (begin,) = limits_of(rows).look({}, NOW)[0]
    assert minutes_ago([begin]) == [("errors", "firing", 10)]
    assert begin.details is not None
    assert (begin.details.bad, begin.details.requests) == (6, 20)
    assert begin.details.window_seconds == 191 * 60
    assert limits_of(rows, LimitSettings(minimum_requests=200)).look({}, NOW)[0] == []


def test_a_deployment_that_never_answered_is_told() -> None:
    """A limit needs no good past: where every request fails from the start it fires, and is over once it answers."""
    begin, end = limits_of([*requests(90, 30, 1, status=500), *requests(30, 0, 1)]).look({}, NOW)[0]
    assert (begin.kind, begin.change, end.change) == ("errors", "firing", "resolved")
    assert begin.since == NOW - 90 * MINUTE
    failing = limits_of(requests(60, 0, 2, error="tool error: no such order")).look({}, NOW)[0]
    assert [(change.kind, change.change) for change in failing] == [("errors", "firing")]


@pytest.mark.parametrize("tries", [1, 2, 3, 4])
def test_a_few_tries_of_a_new_deployment_are_no_catastrophe(tries: int) -> None:
    """Somebody who tries it out, minute by minute or again and again within one, is no reason to wake anybody."""
    assert limits_of(requests(tries, 0, 1, status=500)).look({}, NOW)[0] == []
    assert limits_of(requests(tries, 0, 4, status=404), LimitSettings()).look({}, NOW)[0] == []


def test_whole_answers_without_a_visible_character_are_empty() -> None:
    """White space and null are; a call of a tool, a failed request and a call that no person made are none."""
    no_answers = [
        *requests(20, 0, 2, answer=" \n\u200b", finish_reason="stop"),
        *requests(20, 0, 2, answer=None, finish_reason="length"),
    ]
    (begin,) = limits_of([*requests(60, 20, 4), *no_answers]).look({}, NOW)[0]
    assert minutes_ago([begin]) == [("empty_answers", "firing", 16)]
    others = [
        *requests(20, 0, 4, answer="", finish_reason="tool_calls"),
        *requests(20, 0, 4, answer="", finish_reason="tool_use"),
        *requests(20, 0, 4, answer="", finish_reason="function_call"),
        *requests(20, 0, 2, answer=None, status=500),
        *requests(20, 0, 4, answer=None, is_entry=False),
        *requests(20, 0, 3),
    ]
    assert limits_of([*requests(60, 20, 4), *others]).look({}, NOW)[0] == []


def test_a_deployment_whose_answers_are_calls_of_tools_has_no_empty_ones() -> None:
    """Whatever their finish reason: its share is 0, and not unknown."""
    calls = requests(80, 20, 2, answer=None, finish_reason="stop", answer_kind="tool_call")
    changes, readings = limits_of(calls).look({}, NOW)
    assert (changes, readings["rag"][LimitKind.EMPTY_ANSWERS].share) == ([], 0.0)


@pytest.mark.parametrize(
    ("row", "fires"),
    [
        ({"metric": "refusal", "value": 1.0, "judge": "lexical"}, ["refusals"]),
        ({"metric": "refusal", "value": 0.0, "judge": "lexical"}, []),
        ({"metric": "refusal", "value": 1.0, "judge": "lexical", "is_backfill": True}, []),
        ({"metric": "faithfulness", "value": None, "judge": "gpt-4o", "reason": "judge_timeout"}, ["unscored"]),
        ({"metric": "faithfulness", "value": None, "judge": "gpt-4o", "reason": "judge_budget"}, []),
        ({"metric": "faithfulness", "value": None, "judge": "gpt-4o", "reason": "no_contexts"}, []),
        ({"metric": "facts_recall", "value": None, "judge": "lexical", "reason": "no_ground_truth"}, []),
    ],
)
def test_refusals_and_a_judge_that_fails_are_found_among_scores(row: dict[str, Any], fires: list[str]) -> None:
    """What a metric cannot score by its nature, and what the budget left out, is no catastrophe."""
    limits = limits_of(requests(100, 0, 1))
    scores = [row | {"requested_at": NOW - ago * MINUTE, "scored_at": NOW - ago * MINUTE} for ago in range(30, 0, -1)]
    limits.add_scores("rag", SCORES.rows(scores).select(SCORE_COLUMNS), NOW)
    assert [change.kind for change in limits.look({}, NOW)[0]] == fires


def test_combinations_that_ask_no_judge_hide_none_that_is_down() -> None:
    """Three of them beside one judge that answers nothing: all of what it was asked has failed."""
    limits, at = limits_of(requests(100, 0, 1)), {"requested_at": NOW - MINUTE, "scored_at": NOW - MINUTE}
    down = {"metric": "faithfulness_claims", "judge": "gpt-4o", "value": None, "reason": "judge_unavailable"}
    well = [{"metric": f"good_{n}", "judge": "lexical+embedding", "value": 0.9} for n in range(3)]
    limits.add_scores("rag", SCORES.rows([at | row for row in [down, *well] * 20]).select(SCORE_COLUMNS), NOW)
    changes, readings = limits.look({}, NOW)
    assert [change.kind for change in changes] == ["unscored"]
    assert readings["rag"]["unscored"].share == 1.0


@pytest.mark.parametrize(
    ("rows", "share", "why"),
    [
        (requests(17, 0, 1), None, "too few for a share: 17 of 20 within a day; many bad ones in a row still fire"),
        (requests(2000, 1500, 1, status=200) + requests(1500, 1450, 1, status=503), 1.0,
         "the newest is older than a day: 2026-11-19 11:49 UTC"),
        (requests(60, 0, 1), 0.0, None),
    ],
    ids=["too few", "older than a day", "judged"],
)  # fmt: skip
def test_a_limit_that_cannot_fire_says_why(rows: list[dict[str, Any]], share: float | None, why: str | None) -> None:
    """A share far above the limit that fires nothing is not said to be kept."""
    changes, readings = limits_of(rows).look({}, NOW)
    assert changes == []
    errors = readings["rag"]["errors"]
    assert (errors.active, errors.share, errors.limit, errors.unjudged) == (False, share, 0.3, why)


def test_silence_says_how_long_it_has_listened() -> None:
    """Two weeks make a usual pause known; before, it is not judged."""
    rows = [{"requested_at": NOW - ago * MINUTE} for ago in range(3 * 1440 + 30, 0, -10)]
    (silence,) = (one["no_data"] for one in limits_of(rows).look({}, NOW)[1].values())
    assert silence.unjudged == "heard for 3 of the 14 days that it takes to know the usual pauses"
    known = [{"requested_at": NOW - ago * MINUTE} for ago in range(15 * 1440, 0, -10)]
    assert limits_of(known).look({}, NOW)[1]["rag"]["no_data"].unjudged is None


def test_an_alert_on_what_no_row_says_anything_of_stays_open() -> None:
    """Scores that cannot be read after a start are no scores without a refusal."""
    limits = limits_of(requests(60, 0, 1))
    last: dict[tuple[str, LimitKind], LastChange] = {("rag", "refusals"): LastChange(True, NOW - 50 * MINUTE)}
    changes, readings = limits.look(last, NOW)
    assert changes == []
    assert readings["rag"]["refusals"].active


def test_what_people_did_not_ask_is_in_no_limit() -> None:
    """Evaluations that all fail, and give empty answers, neither fire nor answer for anybody, nor break a silence."""
    tests = [
        *requests(60, 0, 8, status=503, origin="evaluation"),
        *requests(60, 0, 8, answer="", origin="test"),
    ]
    changes, readings = limits_of([*requests(60, 0, 1), *tests]).look({}, NOW)
    assert changes == []
    assert (readings["rag"]["errors"].share, readings["rag"]["empty_answers"].share) == (0.0, 0.0)
    silent = [{"requested_at": NOW - ago * MINUTE} for ago in range(15 * 1440, 120, -10)]
    limits = limits_of([*silent, *tests])
    limits.look({}, NOW - 5 * MINUTE)
    assert [change.kind for change in limits.look({}, NOW)[0]] == ["no_data"]


@given(
    minutes=st.lists(st.tuples(st.integers(0, 300), st.booleans()), min_size=1, max_size=400),
    cut=st.integers(1, 300),
    random=st.randoms(use_true_random=False),
    after=st.sampled_from([0, 20, 60]),
)
def test_it_does_not_matter_when_the_process_began(
    minutes: list[tuple[int, bool]], cut: int, random: Any, after: int
) -> None:
    """Rows in any order, or read again after some changes were recorded, come to the same changes."""
    rows = [
        {"requested_at": NOW - ago * MINUTE, "status": 500 if bad else 200} for ago, bad in [(301, False), *minutes]
    ]
    settings = LimitSettings(minimum_requests=5, empty_answers=None, page_after=after * MINUTE)
    changes = limits_of(rows, settings).look({}, NOW)[0]
    assert limits_of(random.sample(rows, len(rows)), settings).look({}, NOW)[0] == changes
    ends = [change for change in changes if change.reason != "it lasts"]
    for change in ends:
        last: dict[tuple[str, LimitKind], LastChange] = {
            ("rag", "errors"): LastChange(change.change == "firing", change.at, change.tier)
        }
        assert limits_of(rows, settings).look(last, NOW)[0] == changes[changes.index(change) + 1 :]
    assert [change.change for change in ends] == ["firing", "resolved"] * (len(ends) // 2) + ["firing"] * (
        len(ends) % 2
    )


def test_an_alert_without_a_request_for_a_day_is_over() -> None:
    """Who was switched off does not fail; a day after the last request nothing says that it does."""
    limits = limits_of([*requests(90, 60, 4), *requests(60, 0, 4, status=500)])
    last: dict[tuple[str, LimitKind], LastChange] = {("rag", "errors"): LastChange(True, NOW - 50 * MINUTE)}
    assert limits.look(last, NOW + timedelta(hours=23))[0] == []
    (over,) = limits.look(last, NOW + timedelta(hours=25))[0]
    assert (over.change, over.at) == ("resolved", NOW - MINUTE + timedelta(days=1))


def test_what_was_over_a_day_ago_is_not_reported() -> None:
    """The limits look at the last day by the clock: history of a lake that is read for the first time is none."""
    rows = [*requests(1800, 1700, 4), *requests(1700, 1600, 4, status=500), *requests(1600, 1000, 4)]
    assert limits_of(rows).look({}, NOW)[0] == []


def test_silence_is_a_limit_like_the_others() -> None:
    """After two weeks of history it fires, is shown, and over with the next request; before, it is not judged."""
    every_ten_minutes = [{"requested_at": NOW - ago * MINUTE} for ago in range(15 * 1440, 120, -10)]
    limits = limits_of(every_ten_minutes)
    other = logs([{"requested_at": NOW - MINUTE}]).select(LOG_COLUMNS)
    limits.add_logs("new", other, NOW)
    assert limits.look({}, NOW - 5 * MINUTE)[0] == []
    (begin,), readings = limits.look({}, NOW)
    assert (begin.deployment, begin.kind, begin.change) == ("rag", "no_data", "firing")
    assert readings["rag"]["no_data"].active
    assert not readings["new"]["no_data"].active
    assert readings["new"]["no_data"].unjudged is not None
    last: dict[tuple[str, LimitKind], LastChange] = {("rag", "no_data"): LastChange(True, begin.at)}
    assert limits.look(last, NOW)[0] == []
    limits.add_logs("rag", other, NOW)
    (end,), readings = limits.look(last, NOW)
    assert (end.kind, end.change) == ("no_data", "resolved")
    assert not readings["rag"]["no_data"].active


def test_one_deployment_may_have_limits_of_its_own() -> None:
    """Null switches a limit off, also where it fires now; what is not said stays."""
    own = LimitSettings(minimum_requests=20, deployments={"rag": DeploymentLimits(errors=None)})
    assert own.of("rag").errors is None
    assert own.of("rag").refusals == own.of("chat").refusals
    rows = [*requests(90, 60, 4), *requests(60, 0, 4, status=500)]
    assert limits_of(rows, own).look({}, NOW)[0] == []
    assert minutes_ago(limits_of(rows, own, "chat").look({}, NOW)[0]) == [("errors", "firing", 56)]
    (over,) = limits_of(rows, own).look({("rag", "errors"): LastChange(True, NOW - 50 * MINUTE)}, NOW)[0]
    assert (over.change, over.reason) == ("resolved", "this limit is switched off")


def test_whether_requests_fail_since_a_time_is_of_those_after_its_minute() -> None:
    """A share at the limit of four or more; what came until then, and what comes after the look, does not count."""
    limits = limits_of([*requests(100, 40, 1, status=503), *requests(40, 20, 1), *requests(20, 16, 1, status=503)])
    lately = limits.recent_failures()
    table = logs(requests(16, 0, 4, status=503)).select(LOG_COLUMNS)
    limits.add_logs("rag", table, NOW)
    expected = {50: True, 40: False, 31: False, 30: True, 21: True, 20: False, 10: False}
    assert {ago: lately.fails_since("rag", NOW - ago * MINUTE) for ago in expected} == expected
    assert limits.recent_failures().fails_since("rag", NOW - 19 * MINUTE)
    assert not lately.fails_since("other", NOW - 50 * MINUTE)


def test_three_requests_do_not_say_whether_they_fail() -> None:
    """One that failed among few is chance."""
    lately = limits_of([*requests(50, 3, 1), *requests(3, 0, 1, status=503)]).recent_failures()
    assert not lately.fails_since("rag", NOW - 4 * MINUTE)
    assert lately.fails_since("rag", NOW - 5 * MINUTE)
