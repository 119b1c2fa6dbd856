"""What an incident says after each change of its alerts, and which of its rows are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise, permutations
from typing import Any

import msgspec
import pytest

from lake.delta_log.change import LostRaceError
from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, IncidentEvent, LimitKind, Tier
from lake.spec.schemas import INCIDENTS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.alerts.broken_tool import what_changed
from monitor.alerting.alerts.change import AlertChange, AlertDetails, digest
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.change import INCIDENT_COLUMNS, IncidentChange, IncidentDetails
from monitor.alerting.incidents.incident import Acknowledgement, incidents_of
from monitor.alerting.incidents.log import IncidentLog, read_incidents
from monitor.alerting.incidents.recovery import with_recovery
from monitor.alerting.incidents.shared_cause import cause_of, shared_causes, with_failing_callers
from monitor.alerting.incidents.state import events, state_of
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import StreamKey
from tests.monitor.alerting.alerts.test_alerts import READING

NOW = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
MINUTE = timedelta(minutes=1)
FIRES, ENDS = AlertEvent.FIRING, AlertEvent.RESOLVED


def change(
    alert: str,
    event: AlertEvent,
    minute: int,
    *,
    tier: Tier | None = None,
    verdict: AlertVerdict | None = AlertVerdict.UNDECIDED,
    recorded: int | None = None,
    fired: int | None = None,
    deployment: str = "rag",
    kind: LimitKind | None = None,
) -> AlertChange:
    key = StreamKey(deployment, kind or alert, LIMIT_VERSION if kind else "1")
    at = NOW + minute * MINUTE
    details = AlertDetails(
        tier=tier,
        recorded_at=NOW + (minute if recorded is None else recorded) * MINUTE,
        fired_at=None if fired is None else NOW + fired * MINUTE,
        exceeded=LimitDetails() if kind else None,
    )
    said = None if kind and kind != LimitKind.JUDGE_DRIFT else verdict
    return AlertChange(
        f"{alert} {event} {minute}", alert, key, event, at, details, verdict=said, incident_id=f"incident {deployment}"
    )


def failing(
    deployment: str, minute: int, event: AlertEvent = FIRES, kind: LimitKind = LimitKind.ERRORS, **more: Any
) -> Any:
    return change(f"{deployment} {kind}", event, minute, deployment=deployment, kind=kind, **more)


def told(*changes: AlertChange) -> list[tuple[IncidentEvent, ...]]:
    """What became of the incident with each change."""
    states = [state_of(changes[:number]) for number in range(len(changes) + 1)]
    return [events(before, after) for before, after in pairwise(states)]


def test_each_change_says_what_became_of_the_incident() -> None:
    """It opens once, an alert joins, its tier and verdict rise, and it ends with its last alert."""
    page: Any = {"tier": Tier.PAGE}
    assert told(
        change("a", FIRES, 0),
        change("b", FIRES, 1, verdict=AlertVerdict.SYSTEM),
        change("a", FIRES, 2, **page),
        change("b", FIRES, 3, **page, verdict=AlertVerdict.SYSTEM),
        change("b", ENDS, 4, verdict=AlertVerdict.SYSTEM),
        change("a", FIRES, 5, **page, verdict=AlertVerdict.BOTH),
        change("a", ENDS, 6),
        change("c", FIRES, 7),
    ) == [
        (IncidentEvent.OPENED,),
        (IncidentEvent.JOINED, IncidentEvent.VERDICT_CHANGED),
        (IncidentEvent.RAISED,),
        (),
        (),
        (IncidentEvent.VERDICT_CHANGED,),
        (IncidentEvent.ENDED,),
        (IncidentEvent.OPENED,),
    ]
    judge: Any = {"tier": Tier.PAGE, "verdict": AlertVerdict.JUDGE}
    lowered = told(change("a", FIRES, 0, **page), change("a", FIRES, 1, **judge))
    assert lowered == [(IncidentEvent.OPENED,), (IncidentEvent.VERDICT_CHANGED,)]
    kind = told(change("e", FIRES, 0, kind=LimitKind.ERRORS, tier=Tier.WARN), change("a", FIRES, 1))
    assert kind == [(IncidentEvent.OPENED,), (IncidentEvent.JOINED,)]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["judge", "judge"], "judge"),
        (["judge", "undecided"], "undecided"),
        (["judge", "system"], "both"),
        (["both", "undecided"], "both"),
        (["system", "undecided"], "system"),
        ([None, "judge"], "undecided"),
    ],
)
def test_the_verdict_is_that_of_all_alerts(verdicts: list[Any], expected: str) -> None:
    """In any order, also of those that are over; a limit has none, but that of a judge."""
    alerts = [change(str(number), FIRES, number, verdict=verdict) for number, verdict in enumerate(verdicts)]
    ends = change("0", ENDS, 9, verdict=AlertVerdict.UNDECIDED)
    kind = change("e", FIRES, 3, kind=LimitKind.ERRORS)
    for every in permutations([*alerts, ends, kind]):
        state = state_of(every)
        assert (state.verdict, state.is_open, state.tier) == (expected, True, Tier.WARN)
    assert state_of([kind]).verdict is None
    assert state_of([change("d", FIRES, 0, kind=LimitKind.JUDGE_DRIFT, verdict=AlertVerdict.JUDGE)]).verdict == "judge"


def test_each_verdict_has_words() -> None:
    """Also where a limit has none."""
    assert {verdict: what_changed(verdict) for verdict in (*AlertVerdict, None)} == {
        "system": "the application, its documents or the questions changed, not the judge",
        "judge": "the judge changed, not the application",
        "both": "the judge changed, and the application, its documents or the questions",
        "undecided": "whether the judge or anything else changed is undecided",
        None: "a limit was exceeded",
    }


def test_the_foremost_alert_is_a_page_before_a_warning() -> None:
    """Of those that still fire; the tier stays what it was."""
    warning, page = change("a", FIRES, 0), change("b", FIRES, 1, tier=Tier.PAGE)
    assert state_of([warning, page]).foremost == page
    over = state_of([warning, page, change("b", ENDS, 2)])
    assert (over.foremost, over.tier) == (warning, Tier.PAGE)
    assert state_of([warning, change("a", ENDS, 2)]).foremost is None
    for changes in permutations([warning, change("a", ENDS, -1), change("a", FIRES, 3)]):
        assert not state_of(changes).is_open
    again = replace(warning, change_id="again")
    assert state_of([warning, again]).foremost == again


OPENED = [change("a", FIRES, 5, fired=3, tier=Tier.PAGE), change("b", FIRES, 6, fired=1)]
"""Recorded in this order, although the second began before the first."""
OVER = [change("b", ENDS, 20), change("a", ENDS, 10, recorded=21)]


def test_an_incident_is_from_its_first_alert_to_its_last_end() -> None:
    """By the times of the answers; each row has the tier and verdict of all alerts, and names the alert it is by."""
    (found,) = incidents_of([*OPENED, *OVER])
    assert (found.opened_at, found.ended_at) == (NOW + MINUTE, NOW + 20 * MINUTE)
    assert (found.tier, found.verdict, found.is_quiet) == (Tier.PAGE, AlertVerdict.UNDECIDED, False)
    assert [alert.change_id for alert in found.alerts] == ["a resolved 10", "b resolved 20"]
    causes = {IncidentEvent.OPENED: OPENED[0], IncidentEvent.JOINED: OPENED[1], IncidentEvent.ENDED: OVER[1]}
    assert list(found.changes) == [
        IncidentChange(
            digest("incident rag", event, cause.change_id), "incident rag", "rag", event, cause.changed_at, Tier.PAGE,
            AlertVerdict.UNDECIDED, cause.alert_id,
            details=IncidentDetails(recorded_at=cause.details.recorded_at, metric=cause.key.metric),
        )
        for event, cause in causes.items()
    ]  # fmt: skip


def test_incidents_are_the_newest_first() -> None:
    """Of two that opened at once the one with the greater id; alerts without an incident have none."""
    names = ["x", "z", "y"]
    same = [change(name, FIRES, 0, deployment=name) for name in names]
    later = change("w", FIRES, 1, deployment="w")
    lost = replace(change("v", FIRES, 1), incident_id=None)
    found = incidents_of([*same, later, lost])
    assert [one.incident_id for one in found] == [f"incident {name}" for name in "wzyx"]


def noted(minute: int, who: str | None = "ann", comment: str | None = "on it") -> IncidentChange:
    at = NOW + minute * MINUTE
    return IncidentChange(
        f"noted {minute}", "incident rag", "rag", IncidentEvent.ACKNOWLEDGED, at, who=who, comment=comment
    )


def test_an_acknowledgement_is_the_last_one_since_the_last_news() -> None:
    """By when they were found: an alert that joins is no news, one that pages is."""
    joins, raises = change("c", FIRES, 30), change("c", FIRES, 31, tier=Tier.PAGE)
    opened = change("a", FIRES, 5)
    first, last = noted(6), noted(7, None, None)
    (found,) = incidents_of([opened, joins], [last, first])
    assert found.acknowledged == Acknowledgement(None, last.changed_at, "")
    assert found.is_quiet
    assert [row.change for row in found.changes] == ["opened", "acknowledged", "acknowledged", "joined"]
    assert incidents_of([opened, joins, raises], [first])[0].acknowledged is None
    assert incidents_of([opened], [noted(4)])[0].acknowledged is None
    verdict = change("a", FIRES, 8, verdict=AlertVerdict.SYSTEM)
    assert incidents_of([opened, verdict], [first])[0].acknowledged is None
    (over,) = incidents_of([opened, change("a", ENDS, 9)], [first])
    assert (over.acknowledged, over.is_quiet) == (None, False)
    (noted_after,) = incidents_of([opened, change("a", ENDS, 9)], [noted(10)])
    assert noted_after.acknowledged is not None
    assert not noted_after.is_quiet


def test_an_incident_recovers_while_all_that_fires_does() -> None:
    """Since the last of them does; what is over need not."""
    (incident,) = incidents_of([*OPENED, change("c", FIRES, 7), change("c", ENDS, 8)])
    keys = [alert.key for alert in incident.alerts]
    first, second = (replace(READING, recovering_since=NOW + minute * MINUTE) for minute in (1, 2))
    (found,) = with_recovery([incident], {keys[0]: first, keys[1]: second})
    assert (found.recovering_since, found.is_quiet) == (NOW + 2 * MINUTE, True)
    assert with_recovery([incident], {keys[0]: second, keys[1]: READING})[0].recovering_since is None
    assert with_recovery([incident], {keys[0]: second, keys[2]: second})[0].recovering_since is None
    (over,) = incidents_of([*OPENED, *OVER])
    assert with_recovery([over], {keys[0]: first, keys[1]: second})[0].recovering_since is None


@pytest.fixture
def store(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def test_a_note_is_a_row_of_its_own(lake: Lake) -> None:
    """Of each person and time, with the tier and verdict of the incident then; written once, known at once."""
    changes = [change("a", FIRES, 0, tier=Tier.PAGE, verdict=AlertVerdict.SYSTEM)]
    log = IncidentLog(lake)
    (incident,) = log.incidents(changes)["rag"]
    assert log.acknowledged(changes) == []
    assert log.acknowledged(changes, ["incident rag"]) == [incident]
    assert log.acknowledged(changes, ["another"]) == []
    rows = [log.acknowledge(incident, who, "on it", NOW + at * MINUTE) for who in ("ann", "ben", None) for at in (1, 2)]
    assert len({row.change_id for row in rows}) == 6
    assert rows[0] == IncidentChange(
        rows[0].change_id, "incident rag", "rag", IncidentEvent.ACKNOWLEDGED, NOW + MINUTE, Tier.PAGE,
        AlertVerdict.SYSTEM, None, "ann", "on it",
    )  # fmt: skip
    log.acknowledge(incident, "ann", "on it", NOW + MINUTE)
    assert lake.table(INCIDENTS, "rag").read().num_rows == 6
    (quiet,) = log.incidents(changes)["rag"]
    assert quiet.acknowledged is not None
    assert log.acknowledged(changes) == [quiet]
    other = IncidentLog(lake)
    for _ in range(2):
        other.add("rag", lake.table(INCIDENTS, "rag").read(INCIDENT_COLUMNS))
    (read,) = other.incidents(changes)["rag"]
    assert {row.change_id for row in read.changes} == {row.change_id for row in quiet.changes}
    assert read.acknowledged is not None
    told = replace(changes[0], change=AlertEvent.DELIVERED, key=StreamKey("only told", "m", "1"))
    assert set(log.incidents([*changes, told])) == {"rag"}


def test_rows_that_are_there_are_written_by_no_other_log(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor read again by the one that wrote them."""
    changes = [*OPENED, *OVER]
    one, other = IncidentLog(lake), IncidentLog(lake)
    for log in (one, other, one):
        log.record("rag", log.incidents(changes)["rag"])
        assert lake.table(INCIDENTS, "rag").read().num_rows == 3
    details = {msgspec.json.decode(one)["metric"] for one in lake.table(INCIDENTS, "rag").read()["details"].to_pylist()}
    assert details == {"a", "b"}
    monkeypatch.setattr(PassTransaction, "append", None)
    monkeypatch.setattr(IncidentLog, "_append", None)
    for log in (one, other):
        log.record("rag", log.incidents(changes)["rag"])


@pytest.mark.parametrize(("times", "is_lost"), [(9, False), (10, True)])
def test_rows_are_tried_ten_times_against_other_monitors(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, times: int, is_lost: bool
) -> None:
    """Then it is said, and the next call tries again."""
    log, append, left = IncidentLog(lake), PassTransaction.append, [None] * times

    def lose(transaction: PassTransaction, *rows: Any) -> None:
        if left:
            left.pop()
            raise LostRaceError("another was faster")
        append(transaction, *rows)

    monkeypatch.setattr(PassTransaction, "append", lose)
    found = log.incidents(OPENED)["rag"]
    if is_lost:
        with pytest.raises(LostRaceError, match="changed by others 10 times in a row; run fewer monitors"):
            log.record("rag", found)
    log.record("rag", found)
    assert lake.table(INCIDENTS, "rag").read().num_rows == 2


def test_the_incidents_of_a_lake_are_the_newest_first(lake: Lake, store: AlertStore) -> None:
    """Of all deployments together, with what people took note of."""
    from tests.monitor.alerting.alerts.test_alerts import KEY, fired

    for number, name in enumerate(("b", "c", "a")):
        key = replace(KEY, deployment=name)
        store.record([fired(10 + number, key)], NOW)
    log = IncidentLog(lake)
    log.acknowledge(log.incidents(store.changes())["c"][0], None, "on it", NOW)
    found = read_incidents(lake)
    assert [(one.deployment, one.acknowledged is not None) for one in found] == [
        ("a", False), ("c", True), ("b", False),
    ]  # fmt: skip


CALLERS = {"model": {"app", "agent"}, "index": {"app"}, "agent": {"front"}, "app": {"app"}}


def roots(*changes: AlertChange, now: int = 60) -> dict[str, frozenset[str]]:
    return {name: cause.failing for name, cause in shared_causes(changes, CALLERS, NOW + now * MINUTE).items()}


def test_a_cause_is_what_fails_below_all_else() -> None:
    """With all that call it, through others too; of two the first to fail. Who fails alone shares none."""
    found = shared_causes([failing("model", 0), failing("app", 5), failing("front", 6)], CALLERS, NOW + 60 * MINUTE)
    assert {name: (cause.callers, cause.failing) for name, cause in found.items()} == {
        "model": (frozenset({"app", "agent", "front"}), frozenset({"app"}))
    }
    assert cause_of("app", found) == found["model"]
    assert cause_of("model", found) is None
    assert roots(failing("model", 0), failing("agent", 1), failing("front", 2)) == {"model": {"agent", "front"}}
    for model, index, root in [(0, 1, "model"), (1, 0, "index")]:
        assert roots(failing("model", model), failing("index", index), failing("app", 2)) == {root: {"app"}}
    assert roots(failing("app", 0)) == {}
    empty = failing("model", 0, kind=LimitKind.EMPTY_ANSWERS)
    assert roots(empty, failing("app", 0)) == {"model": {"app"}}
    assert roots(failing("model", 0, kind=LimitKind.REFUSALS), failing("app", 0)) == {}
    assert roots(replace(failing("model", 0), key=StreamKey("model", LimitKind.ERRORS, "1")), failing("app", 0)) == {}


@pytest.mark.parametrize(("caller", "is_shared"), [(0, True), (-30, True), (-31, False), (500, True)])
def test_a_caller_may_be_found_half_an_hour_before_its_cause(caller: int, is_shared: bool) -> None:
    """By the times of the requests: it may have more traffic. Of several limits the first counts."""
    later = failing("model", 7, kind=LimitKind.EMPTY_ANSWERS)
    for changes in ([failing("model", 0), later], [later, failing("model", 0)]):
        assert roots(*changes, failing("app", caller)) == ({"model": {"app"}} if is_shared else {})


@pytest.mark.parametrize(("minutes", "is_shared"), [(29, True), (30, False)])
def test_a_cause_that_is_over_is_one_for_half_an_hour(minutes: int, is_shared: bool) -> None:
    """By the clock, from when its end was found."""
    over = failing("model", 10, ENDS, recorded=60, fired=0)
    assert roots(failing("model", 0), over, failing("app", 5), now=60 + minutes) == (
        {"model": {"app"}} if is_shared else {}
    )


def test_of_those_that_call_each_other_the_first_to_fail_is_the_cause() -> None:
    """At the same time the first by name."""
    ring = {"a": {"b"}, "b": {"a"}, "c": {"a"}}
    for first, second, third, root in [(1, 0, 2, "c"), (0, 1, 2, "c"), (2, 1, 40, "b"), (1, 1, 40, "a")]:
        changes = [failing("a", first), failing("b", second), failing("c", third)]
        assert list(shared_causes(changes, ring, NOW)) == [root]


def test_a_message_names_those_that_its_receiver_is_for() -> None:
    """In the order of their names, the others by their number; only where a failure's limit begins."""
    causes = shared_causes(
        [failing("model", 0), failing("agent", 1), failing("app", 1), failing("front", 2)], CALLERS, NOW
    )
    for kind in (LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS):
        fires = failing("model", 0, kind=kind)
        told = with_failing_callers(fires, causes, lambda name: name != "front").details.exceeded
        assert told == LimitDetails(callers=3, failing_callers=("agent", "app"), unnamed_failing_callers=1)
    unchanged: Iterator[AlertChange] = iter(
        [
            failing("model", 9, ENDS),
            failing("model", 9, kind=LimitKind.REFUSALS),
            failing("index", 9),
            replace(fires, details=msgspec.structs.replace(fires.details, exceeded=None)),
        ]
    )
    for other in unchanged:
        assert with_failing_callers(other, causes, lambda _: True) is other
