"""Labels of people, as rows of `user_signals`."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lake.delta_log.change import LostRaceError
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.controls.labels import Label, write_label

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ANSWER = {"deployment": "rag", "event_id": "event-1", "response_id": "r", "date": date(2026, 11, 20), "chat_id": "c"}
LABEL = Label(True, "", "ann", "form-1")


def stored(lake: Lake) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lake.table(USER_SIGNALS, "rag").read().sort_by("signaled_at").to_pylist()
    return rows


@pytest.mark.parametrize("days", [-1, 0, 1, 400])
def test_a_form_that_is_sent_twice_is_one_label(lake: Lake, days: int) -> None:
    """Whenever the answer was labelled, also by a clock that is a day behind."""
    at = NOON + timedelta(days=days)
    assert write_label(lake, ANSWER, LABEL, at)
    assert not write_label(lake, ANSWER, LABEL, at + timedelta(hours=1))
    assert len(stored(lake)) == 1


def test_another_form_person_or_answer_is_another_label(lake: Lake) -> None:
    """Whatever they say."""
    labels = [
        LABEL,
        Label(True, "", "ann", "form-2"),
        Label(True, "", "bob", "form-1"),
        Label(True, "", None, "form-1"),
    ]
    assert all(write_label(lake, ANSWER, one, NOON) for one in labels)
    assert write_label(lake, ANSWER | {"event_id": "event-2"}, LABEL, NOON)
    assert len({row["signal_id"] for row in stored(lake)}) == 5


def test_a_label_says_who_judged_which_answer_and_how(lake: Lake) -> None:
    """With all of its weight; an answer without an id of its own is named by its event."""
    write_label(lake, ANSWER, Label(False, "It is Delhi.", "ann", "form-1"), NOON)
    write_label(lake, ANSWER | {"response_id": None}, Label(True, "", None, "form-2"), NOON + timedelta(hours=1))
    wrong, right = stored(lake)
    names = ("response_id", "signal", "value", "confidence", "origin", "user_id", "chat_id", "signaled_at", "date")
    assert [wrong[name] for name in names] == ["r", "wrong", -1.0, 1.0, "label", "ann", "c", NOON, NOON.date()]
    assert [right[name] for name in names[:4]] == ["event-1", "right", 1.0, 1.0]
    assert right["user_id"] is None
    assert json.loads(wrong["details"]) == {"event_id": "event-1", "comment": "It is Delhi."}
    assert json.loads(right["details"]) == {"event_id": "event-1"}


def test_a_label_that_others_overtake_is_tried_five_times(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then who wrote it is told; four times it goes well."""
    append, tried = PassTransaction.append, []

    def lose(most: int) -> Any:
        def late(transaction: PassTransaction, *given: Any) -> None:
            tried.append(1)
            if len(tried) <= most:
                raise LostRaceError("another was faster")
            append(transaction, *given)

        return late

    monkeypatch.setattr(PassTransaction, "append", lose(4))
    assert write_label(lake, ANSWER, LABEL, NOON)
    tried.clear()
    monkeypatch.setattr(PassTransaction, "append", lose(99))
    with pytest.raises(LostRaceError):
        write_label(lake, ANSWER, Label(True, "", "ann", "form-2"), NOON)
    assert len(tried) == 5
