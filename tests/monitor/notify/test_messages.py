from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.detect.regression import StreamKey
from monitor.notify.messages import messages

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def change(number: int, seconds: float, deployment: str = "rag", kind: Any = "firing") -> AlertChange:
    at = NOON + timedelta(seconds=seconds)
    key = StreamKey(deployment, f"metric-{number}", "1")
    return AlertChange(f"c{number}", f"a{number}", key, kind, NOON, AlertDetails(recorded_at=at))


def ids(changes: list[AlertChange], window: timedelta = MINUTE) -> list[list[str]]:
    return [[c.change_id for c in message.changes] for message in messages(changes, window)]


def test_changes_of_a_deployment_within_a_minute_are_one_message() -> None:
    """The minute begins with the first and ends before its sixtieth second; then the message is ready."""
    changes = [change(1, 0), change(2, 59.9), change(3, 60), change(4, 61)]
    assert ids(changes) == [["c1", "c2"], ["c3", "c4"]]
    assert [message.ready_at for message in messages(changes, MINUTE)] == [NOON + MINUTE, NOON + 2 * MINUTE]


def test_deployments_and_kinds_are_not_mixed() -> None:
    """A message is about one deployment, and either all of it fires or all is over."""
    changes = [change(1, 0), change(2, 0, "other"), change(3, 1, kind="resolved"), change(4, 1)]
    assert ids(changes) == [["c1", "c4"], ["c2"], ["c3"]]


def test_without_a_window_only_what_was_found_at_once_is_together() -> None:
    """A window of 0 joins the changes of one look at the lake and waits for nothing."""
    changes = [change(1, 0), change(2, 0), change(3, 0.1)]
    assert ids(changes, timedelta(0)) == [["c1", "c2"], ["c3"]]
    assert messages(changes, timedelta(0))[0].ready_at == NOON


def test_the_id_is_the_changes_own_or_a_digest() -> None:
    """One change goes by its own id; of several the id depends on all and not on their order."""
    (one,), (both,), (three,) = (
        messages([change(n, 0) for n in numbers], MINUTE) for numbers in ([1], [1, 2], [1, 2, 3])
    )
    (turned,) = messages([change(2, 0), change(1, 0)], MINUTE)
    assert one.message_id == "c1"
    assert both.message_id == turned.message_id
    assert len({one.message_id, both.message_id, three.message_id}) == 3


def test_a_message_has_the_newest_of_each_alert() -> None:
    """Where an alert changes twice within the window both are in the message, and the later one is what it says."""
    first = change(1, 0)
    (both,) = messages([first, replace(first, change_id="later", changed_at=NOON + MINUTE), change(2, 0)], MINUTE)
    assert len(both.changes) == 3
    assert {c.change_id for c in both.newest} == {"later", "c2"}


@given(
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from("ab"), st.sampled_from(["firing", "resolved"]))),
    st.randoms(use_true_random=False),
)
def test_what_is_settled_does_not_change_the_other_messages(made: list[tuple[int, str, str]], random: Any) -> None:
    """However many messages are done, the rest has the same changes and ids: so a restart repeats the same ids."""
    changes = [change(n, *one) for n, one in enumerate(made)]
    every = messages(changes, MINUTE)
    assert sorted(c.change_id for message in every for c in message.changes) == sorted(c.change_id for c in changes)
    left = [message for message in every if random.random() < 0.5]
    random.shuffle(changes)
    remaining = {c.change_id for message in left for c in message.changes}
    assert messages([c for c in changes if c.change_id in remaining], MINUTE) == left
