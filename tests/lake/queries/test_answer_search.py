"""Search for answers, compared with pandas over the whole tables."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_search import find_answer_ids, find_answers
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.vocabulary import FailureKind
from lake.tables.lake import Lake

START = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEXTS = st.none() | st.text("aAbBéÉ.*%\n", max_size=6)
TIMES = st.integers(0, 72).map(lambda hour: START + hour * HOUR)
REPAIRED = "invalid UTF-8 was replaced, first at byte 3"


def log_row(event_id: str, at: datetime = START, **columns: Any) -> dict[str, Any]:
    ids = {"event_id": event_id, "response_id": f"r-{event_id}", "response_ids": [f"r-{event_id}"]}
    seen = {"kind": "chat_completion", "is_entry": True, "status": 200, "question": "Q?", "answer": "A."}
    return ids | seen | {"date": at.date(), "requested_at": at, "ingested_at": at} | columns


def score_row(event_id: str, metric: str, value: float | None, at: datetime = START, **columns: Any) -> dict[str, Any]:
    ids = {"score_id": f"{event_id}-{metric}-{columns}", "event_id": event_id, "metric": metric, "metric_version": "1"}
    return ids | {"value": value, "date": at.date(), "requested_at": at, "scored_at": at} | columns


def rating_row(response_id: str, signal: str, at: datetime = START, **columns: Any) -> dict[str, Any]:
    said = {"signal_id": f"{response_id}-{at}", "response_id": response_id, "signal": signal, "origin": "explicit"}
    return said | {"date": at.date(), "signaled_at": at} | columns


def write(lake: Lake, logs: list[Any], scores: list[Any] = [], signals: list[Any] = []) -> None:  # noqa: B006
    for spec, rows in ((PARSED_LOGS, logs), (SCORES, scores), (USER_SIGNALS, signals)):
        if rows:
            lake.table(spec, "rag").append(spec.rows(rows))


def found(lake: Lake, **wanted: Any) -> list[str]:
    period = {"deployment": "rag", "since": START, "until": START + 96 * HOUR}
    return [row.event_id for row in find_answers(lake, AnswerFilter(**period | wanted)).rows]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_a_refusal_is_found_by_its_score_and_without_one_by_its_text(lake: Lake) -> None:
    """What failed is none, whatever it says; a score says it of an answer that has one."""
    text = "I do not know the answer to that."
    write(lake, [
        log_row("said", answer=text, finish_reason="stop"),
        log_row("scored", answer="Ask Ann.", finish_reason="stop"),
        log_row("scored well", answer=text, finish_reason="stop"),
        log_row("late", answer=2_000 * " " + text, finish_reason="stop"),
        log_row("failed", answer=text, error="cut"),
        log_row("good", answer="On the 25th.", finish_reason="stop"),
    ], [score_row("scored", "refusal", 1.0), score_row("scored well", "refusal", 0.0)])  # fmt: skip
    assert sorted(found(lake, failure=FailureKind.REFUSAL)) == ["said", "scored"]
    every = find_answers(lake, AnswerFilter("rag", START, START + HOUR)).rows
    assert {row.event_id for row in every if FailureKind.REFUSAL in row.failures} == {"said", "scored"}


def test_an_answer_that_the_log_does_not_hold_is_not_empty(lake: Lake) -> None:
    """Of a secured key no body is logged, so nobody knows what was said."""
    write(lake, [
        log_row("secured", answer=None),
        log_row("empty", answer=None, finish_reason="stop", answer_kind="empty"),
        log_row("older", answer=None, finish_reason="stop"),
    ])  # fmt: skip
    assert sorted(found(lake, failure=FailureKind.EMPTY)) == ["empty", "older"]


EXACT: dict[str, list[Any]] = {"user_id": ["u", "v"], "model": ["m"], "duration_ms": [500, 1000], "price": [0.0, 0.5]}


def called(*tools: tuple[str | None, bool | None]) -> list[dict[str, Any]]:
    return [{"name": name, "is_error": is_error, "result": "no", "arguments": "{}"} for name, is_error in tools]


CALLS = [None, [], called(("get", True), ("put", False)), called(("get", False), ("put", True)), called((None, None))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any]]:
    """Rows of the three tables; lines may be twice, scores be made again, ratings come from several people."""
    logs, scores, signals = [], [], []
    for number in range(draw(st.integers(0, 8))):
        at = draw(TIMES)
        row = log_row(
            f"e{number}",
            at,
            response_ids=draw(st.sampled_from([None, [], [f"r-e{number}"], [f"x{number}", f"r-e{number}"]])),
            kind=draw(st.sampled_from(["chat_completion", "message", "embedding", None])),
            is_entry=draw(st.sampled_from([True, True, True, False, None])),
            origin=draw(st.sampled_from([None, "production", "evaluation"])),
            status=draw(st.sampled_from([200, 200, 500, None])),
            error=draw(st.sampled_from([None, "cut", REPAIRED])),
            finish_reason=draw(st.sampled_from([None, "stop", "length", "content_filter", "tool_calls"])),
            question=draw(TEXTS),
            answer=draw(TEXTS),
            tool_calls=draw(st.sampled_from(CALLS)),
            **{name: draw(st.sampled_from([None, *values])) for name, values in EXACT.items()},
        )
        logs += [row] * draw(st.integers(1, 2))
        for made in range(draw(st.integers(0, 3))):
            value = draw(st.sampled_from([None, 0.1, 0.5, 0.5, 0.9]))
            metric = draw(st.sampled_from(["f", "g", "refusal"]))
            later = at + draw(st.integers(0, 2)) * HOUR
            scores.append(score_row(f"e{number}", metric, value, at, scored_at=later, score_id=f"{number}-{made}"))
        for said in range(draw(st.integers(0, 3))):
            about = draw(st.sampled_from([f"r-e{number}", f"x{number}", f"e{number}"]))
            signal = draw(st.sampled_from(["like", "dislike", "regenerate", "right", "wrong"]))
            origin = draw(st.sampled_from(["explicit", "implicit", "label"]))
            user = draw(st.sampled_from([None, "u", "v"]))
            later = at + draw(st.integers(-1, 30)) * HOUR
            details = draw(st.sampled_from([None, *map(comment_details, ("Ab É", "b%", ""))]))
            ids = {"signal_id": f"{number}-{said}", "user_id": user}
            one = rating_row(about, signal, later, origin=origin, details=details, **ids)
            signals.append(one)
    return logs, scores, signals


@st.composite
def filters(draw: st.DrawFn) -> AnswerFilter:
    since = draw(TIMES)
    return AnswerFilter(
        deployment="rag",
        since=since,
        until=since + draw(st.integers(1, 72)) * HOUR,
        metric=draw(st.sampled_from([None, "f"])),
        below=draw(st.sampled_from([None, 0.5, 0.7])),
        above=draw(st.sampled_from([None, 0.1])),
        rating=draw(st.sampled_from([None, *AnswerRating])),
        label=draw(st.sampled_from([None, None, *AnswerLabel])),
        status=draw(st.sampled_from([None, *AnswerStatus])),
        failure=draw(st.sampled_from([None, None, *FailureKind])),
        tool=draw(st.sampled_from(["", "", "", "get"])),
        id_part=draw(st.sampled_from(["", "", "e1", "x"])),
        words=draw(st.just("") | st.text("aBéÉ.*% ", max_size=4)),
        comment=draw(st.sampled_from(["", "", "", "é a", "b"])),
        user=draw(st.sampled_from(["", "", "u"])),
        model=draw(st.sampled_from(["", "", "m"])),
        slower_than=draw(st.sampled_from([None, None, 0.5, 1])),
        cost_over=draw(st.sampled_from([None, None, 0, 0.5])),
        sort=draw(st.sampled_from([None, "f", "g"])),
        ascending=draw(st.booleans()),
        page=draw(st.integers(1, 2)),
        page_size=draw(st.integers(1, 5)),
        entries_only=draw(st.booleans()),
    )


def latest_values(scores: list[Any]) -> pd.DataFrame:
    """A row an answer, a column a metric."""
    frame = pd.DataFrame(scores, columns=["event_id", "metric", "value", "scored_at", "score_id"])
    latest = frame.sort_values(["scored_at", "score_id"]).drop_duplicates(["event_id", "metric"], keep="last")
    return latest.pivot(index="event_id", columns="metric", values="value").reindex(columns=["f", "g", "refusal"])


def comment_details(text: str) -> str:
    return json.dumps({"comment": text})


def comments_of(row: pd.Series, signals: list[Any]) -> list[str]:
    ids = {row["event_id"], row["response_id"], *(row["response_ids"] or ())}
    said = [one for one in signals if one["response_id"] in ids and one["origin"] == "explicit"]
    said = [one for one in said if one["signal"] in {"like", "dislike"} and one.get("details")]
    return [json.loads(one["details"])["comment"].lower() for one in said]


def rating_of(row: pd.Series, signals: list[Any]) -> str:
    ids = {row["event_id"], row["response_id"], *(row["response_ids"] or ())}
    said = [one for one in signals if one["response_id"] in ids and one["origin"] == "explicit"]
    said = [one for one in said if one["signal"] in {"like", "dislike"}]
    ordered = sorted(said, key=lambda one: (one["signaled_at"], one["signal_id"]))
    latest = {one["user_id"]: one["signal"] for one in ordered}
    return "disliked" if "dislike" in latest.values() else "liked" if latest else "none"


def label_of(row: pd.Series, signals: list[Any]) -> str:
    ids = {row["event_id"], row["response_id"], *(row["response_ids"] or ())}
    said = [one for one in signals if one["response_id"] in ids and one["origin"] == "label"]
    said = [one for one in said if one["signal"] in {"right", "wrong"}]
    ordered = sorted(said, key=lambda one: (one["signaled_at"], one["signal_id"]))
    words = {one["user_id"]: one["signal"] for one in ordered}.values()
    return "disputed" if len(set(words)) == 2 else next(iter(words), "none")


def failures_of(row: dict[str, Any], is_whole: bool) -> tuple[str, ...]:
    """Line feeds are the only characters of the texts that one does not see.

    Without a finish reason and a text the log does not hold the answer, as of a secured key.
    """
    is_logged = row["finish_reason"] is not None or row["answer"] is not None
    is_empty = is_whole and row["finish_reason"] != "tool_calls" and not (row["answer"] or "").strip("\n")
    is_cut = row["finish_reason"] in ("length", "content_filter")
    has_failed = any(one["is_error"] for one in row["tool_calls"] or ())
    refuses = row["refusal"] is not None and row["refusal"] > 0
    kinds = {"error": not is_whole, "empty": is_empty and is_logged, "refusal": refuses, "cut": is_cut}
    kinds["tool_error"] = has_failed
    return tuple(kind for kind, is_so in kinds.items() if is_so)


def expected(rows: tuple[list[Any], list[Any], list[Any]], wanted: AnswerFilter) -> pd.DataFrame:
    """All that match, in order, with their values, rating and status."""
    logs, scores, signals = rows
    columns = [*log_row(""), "origin", "error", "finish_reason", "tool_calls", *EXACT]
    frame = pd.DataFrame(logs, columns=columns).drop_duplicates("event_id")
    frame = frame.astype(object).where(frame.notna(), None)
    frame = frame.merge(latest_values(scores), "left", left_on="event_id", right_index=True)
    frame["rating"] = [rating_of(row, signals) for _, row in frame.iterrows()]
    frame["label"] = [label_of(row, signals) for _, row in frame.iterrows()]
    whole = [row.status == 200 and row.error in (None, REPAIRED) for row in frame.itertuples()]
    frame["failures"] = [failures_of(*one) for one in zip(frame.to_dict("records"), whole, strict=True)]
    frame["state"] = ["ok" if one else "failed" for one in whole]
    kept = (frame["requested_at"] >= wanted.since) & (frame["requested_at"] < wanted.until)
    if wanted.entries_only:
        kept &= frame["kind"].isin(["chat_completion", "message"]) & frame["is_entry"].eq(True)
        kept &= frame["origin"].isin([None, "production"])
    if wanted.metric and not (wanted.below is None and wanted.above is None):
        kept &= frame["f"] < (1e9 if wanted.below is None else wanted.below)
        kept &= frame["f"] > (-1e9 if wanted.above is None else wanted.above)
    if wanted.rating:
        kept &= frame["rating"] == wanted.rating
    if wanted.label:
        kept &= frame["label"] == wanted.label
    if wanted.status:
        kept &= frame["state"] == wanted.status
    if wanted.failure:
        kept &= pd.Series([wanted.failure in some for some in frame["failures"]], frame.index, bool)
    if wanted.tool:
        is_failed = wanted.failure == FailureKind.TOOL_ERROR
        kept &= pd.Series(
            [
                any(one["name"] == wanted.tool and (one["is_error"] or not is_failed) for one in calls or ())
                for calls in frame["tool_calls"]
            ],
            frame.index,
            bool,
        )
    if wanted.slower_than is not None:
        kept &= frame["duration_ms"].astype(float) > 1000 * wanted.slower_than
    if wanted.cost_over is not None:
        kept &= frame["price"].astype(float) > wanted.cost_over
    kept &= frame["user_id"].eq(wanted.user) | (not wanted.user)
    kept &= frame["model"].eq(wanted.model) | (not wanted.model)
    comments = [comments_of(row, signals) for _, row in frame.iterrows()]
    for word in wanted.words.lower().split():
        texts = frame["question"].fillna("").str.lower() + "\0" + frame["answer"].fillna("").str.lower()
        texts += pd.Series(["\0".join(["", *some]) for some in comments], frame.index, str)
        kept &= texts.str.contains(word, regex=False)
    for word in wanted.comment.lower().split():
        comments = [[one for one in some if word in one] for some in comments]
    if wanted.comment:
        kept &= pd.Series([bool(some) for some in comments], frame.index, bool)
    if wanted.id_part:
        ids = [[row.event_id, row.response_id, *(row.response_ids or ())] for row in frame.itertuples()]
        kept &= pd.Series([any(wanted.id_part in one for one in some) for some in ids], frame.index, bool)
    by = [*([wanted.sort] if wanted.sort else []), "requested_at", "event_id"]
    return frame[kept.astype(bool)].sort_values(by, ascending=wanted.ascending, na_position="last")


def assert_found_as_by_pandas(lake: Lake, rows: tuple[list[Any], list[Any], list[Any]], wanted: AnswerFilter) -> None:
    page, all_of_them = find_answers(lake, wanted), expected(rows, wanted)
    assert find_answer_ids(lake, wanted) == tuple(row.event_id for row in page.rows)
    begin = (wanted.page - 1) * wanted.page_size
    right = all_of_them.iloc[begin : begin + wanted.page_size]
    assert page.total == len(all_of_them)
    assert page.has_more == (begin + wanted.page_size < len(all_of_them))
    assert [row.event_id for row in page.rows] == list(right["event_id"])
    assert [row.rating for row in page.rows] == list(right["rating"])
    assert [row.label for row in page.rows] == list(right["label"])
    assert [row.failures for row in page.rows] == list(right["failures"])
    assert [row.status for row in page.rows] == list(right["state"])
    scored = {(one["event_id"], one["metric"]) for one in rows[1]}
    for row, (_, values) in zip(page.rows, right.iterrows(), strict=True):
        names = [name for name in ("f", "g", "refusal") if (row.event_id, name) in scored]
        assert row.values == {name: None if pd.isna(values[name]) else values[name] for name in names}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=tables(), wanted=st.lists(filters(), min_size=4, max_size=4))
def test_a_page_is_what_pandas_finds_in_the_whole_tables(
    rows: tuple[list[Any], list[Any], list[Any]], wanted: list[AnswerFilter]
) -> None:
    """Rows, order, number of all, latest values, ratings and statuses, for any filter."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(folder)
        write(lake, *rows)
        for one in wanted:
            assert_found_as_by_pandas(lake, rows, one)


@pytest.mark.slow
def test_each_filter_finds_what_pandas_finds(lake: Lake) -> None:
    """One of each kind, of answers of two days that differ in all that is asked for."""
    late = START + 30 * HOUR
    logs = [
        log_row(
            "e1",
            answer="One.",
            tool_calls=CALLS[2],
            finish_reason="stop",
            user_id="u",
            model="m",
            duration_ms=1500,
            price=0.2,
        ),
        log_row(
            "e2",
            START + HOUR,
            user_id="uu",
            model="mm",
            duration_ms=1000,
            price=0.1,
            response_ids=["x2", "r-e2"],
            question="Éa?",
            finish_reason="length",
            tool_calls=CALLS[3],
        ),
        log_row("e3", late, response_ids=None, status=500, answer=None),
        log_row("e4", late + HOUR, tool_calls=CALLS[4], answer="", finish_reason="stop", error=REPAIRED),
        log_row("e5", late, is_entry=False),
        log_row("e6", late + 2 * HOUR, origin="evaluation", answer="Sorry."),
        log_row("e7", late + 3 * HOUR, response_id="y7", response_ids=["y7"], question="B%?", error="cut"),
    ]
    scores = [
        score_row("e1", "f", 0.1),
        score_row("e1", "f", 0.9, scored_at=START + HOUR),
        score_row("e2", "f", 0.5, START + HOUR),
        score_row("e2", "g", 0.2, START + HOUR),
        score_row("e4", "f", None, late + HOUR),
        score_row("e6", "refusal", 1.0, late + 2 * HOUR),
        score_row("e7", "f", 0.7, late + 3 * HOUR),
        score_row("e7", "refusal", 0.5, late + 3 * HOUR),
        score_row("e1", "refusal", 0.0),
    ]
    signals = [
        rating_row("r-e1", "like", user_id="u"),
        rating_row("x2", "dislike", late + 90 * HOUR, user_id="u"),
        rating_row("r-e4", "right", late, origin="label", user_id="v"),
        rating_row("r-e1", "wrong", late, origin="label", user_id="v"),
    ]
    write(lake, logs, scores, signals)
    filters: list[dict[str, Any]] = [
        {"entries_only": False, "page_size": 3, "page": 2},
        {"since": START + HOUR, "until": late, "page_size": 1},
        {"since": START + timedelta(minutes=1), "until": late + timedelta(minutes=1), "ascending": True},
        {"metric": "f", "below": 0.9, "sort": "g"},
        {"metric": "f", "above": 0.5, "sort": "f", "ascending": True},
        {"id_part": "e1"},
        {"id_part": "x2"},
        {"words": "éA"},
        {"words": "one", "rating": AnswerRating.LIKED},
        {"user": "u"},
        {"model": "m"},
        {"slower_than": 1},
        {"cost_over": 0.1},
        {"rating": AnswerRating.DISLIKED},
        {"label": AnswerLabel.WRONG},
        {"status": AnswerStatus.FAILED, "entries_only": False},
        {"failure": FailureKind.CUT},
        {"failure": FailureKind.REFUSAL, "entries_only": False},
        {"failure": FailureKind.TOOL_ERROR},
        {"tool": "get"},
        {"tool": "get", "failure": FailureKind.TOOL_ERROR},
        {"tool": "get", "failure": FailureKind.CUT},
        {"tool": "ge"},
    ]
    for wanted in filters:
        whole = {"deployment": "rag", "since": START, "until": START + 96 * HOUR, "page_size": 10} | wanted
        assert_found_as_by_pandas(lake, (logs, scores, signals), AnswerFilter(**whole))
