"""Erasures in lakes where answers of several people have one id, or none."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.erasure.erasure import Receipt, erase
from lake.erasure.erasure_scope import Subject
from lake.erasure.scope_search import SeveralAnswersError
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import ALERTS, ANCHORS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PEOPLE = ("alice", "bob", "carol")
ROOM = "a room that all are in"
QUESTIONS = ("What is our policy for travel by train?", "Any?")
KEYS = {
    PARSED_LOGS: "event_id",
    USER_SIGNALS: "signal_id",
    SCORES: "score_id",
    ANCHORS: "event_id",
    GROUND_TRUTH: "case_id",
    REPLAYS: "replay_id",
}


class Rows:
    """Rows of a lake, written at once; each row that is a person's has a key that begins with their name."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._rows: dict[tuple[str, str | None], list[dict[str, Any]]] = defaultdict(list)
        self._specs: dict[str, TableSpec] = {}

    def add(self, spec: TableSpec, deployment: str | None = "app", **row: Any) -> None:
        fixed = {"deployment": deployment, "date": NOW.date(), "ingested_at": NOW}
        self._specs[spec.name] = spec
        known = {name: value for name, value in fixed.items() if name in spec.schema.names}
        self._rows[spec.name, deployment].append(known | row)

    def write(self) -> None:
        for (name, deployment), rows in self._rows.items():
            spec = self._specs[name]
            self._lake.table(spec, deployment).append(spec.rows(rows))

    def keys(self) -> dict[str, list[str]]:
        """Give the keys that were written by table."""
        of_specs = {spec.name: key for spec, key in KEYS.items()}
        found: dict[str, list[str]] = defaultdict(list)
        for (name, _), rows in self._rows.items():
            if name in of_specs:
                found[name] += [row[of_specs[name]] for row in rows]
        return {name: sorted(keys) for name, keys in found.items()}


def keys_of(lake: Lake) -> dict[str, list[str]]:
    """Give the keys of all rows by table, without tables that have none."""
    found = {
        spec.name: sorted(
            value for name in lake.deployments() for value in lake.table(spec, name).read([key])[key].to_pylist()
        )
        for spec, key in KEYS.items()
    }
    return {name: keys for name, keys in found.items() if keys}


def without(keys: dict[str, list[str]], person: str) -> dict[str, list[str]]:
    left = {name: [key for key in some if not key.startswith(f"{person} ")] for name, some in keys.items()}
    return {name: some for name, some in left.items() if some}


def everywhere(root: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(root).rglob("*")) if path.is_file())


def in_doubt(receipt: Receipt) -> dict[str, tuple[int, int]]:
    counts = {table.table: (table.in_doubt, table.left_in_doubt) for table in receipt.tables}
    return {table: some for table, some in counts.items() if any(some)}


def add_answer(rows: Rows, person: str, number: int, response_id: str | None, **columns: Any) -> dict[str, Any]:
    """Add an answer, and give it."""
    at = NOW + timedelta(minutes=number)
    answer = {
        "event_id": f"{person} {number}",
        "response_id": response_id,
        "response_ids": [] if response_id is None else [response_id],
        "user_id": person,
        "chat_id": f"chat of {person}",
        "trace_id": f"trace {person} {number}",
        "requested_at": at,
        "date": at.date(),
        "is_entry": True,
        "kind": "chat",
        "status": 200,
        "question": QUESTIONS[0],
        "answer": f"The answer {number} as {person} got it.",
    } | columns
    rows.add(PARSED_LOGS, **answer)
    return answer


def add_made_of(rows: Rows, answer: dict[str, Any], case_source: str | None = None) -> None:
    """Add a score, an anchor, a case in two versions and a replay of it."""
    key, same = answer["event_id"], {name: answer[name] for name in ("event_id", "response_id", "chat_id", "date")}
    rows.add(SCORES, score_id=key, **same)
    rows.add(ANCHORS, **same)
    source = case_source or answer["response_id"] or key
    of_case = {"case_id": key, "source_response_id": source, "source_date": answer["date"]}
    rows.add(GROUND_TRUTH, version=1, question=answer["question"], answer=answer["answer"], **of_case)
    rows.add(GROUND_TRUTH, version=2, question="Another?", answer="An answer in other words.", **of_case)
    of_replay = {"replay_id": key, "case_id": key, "trace_id": f"replay {key}", "date": answer["date"]}
    rows.add(REPLAYS, response_id=answer["response_id"], **of_replay)


SIGNALS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "person and conversation": lambda one: {"user_id": one["user_id"], "chat_id": one["chat_id"]},
    "person": lambda one: {"user_id": one["user_id"]},
    "conversation": lambda one: {
        "user_id": one["user_id"] if one["chat_id"] == ROOM else None,
        "chat_id": one["chat_id"],
    },
    "label": lambda one: {
        "user_id": "reviewer", "chat_id": one["chat_id"], "origin": "label",
        "response_id": one["response_id"] or one["event_id"], "details": json.dumps({"event_id": one["event_id"]}),
    },
    "implicit": lambda one: {
        "user_id": one["user_id"], "chat_id": one["chat_id"], "origin": "implicit",
        "details": json.dumps({"event_id": one["event_id"]}),
    },
}  # fmt: skip


def add_signal(rows: Rows, answer: dict[str, Any], kind: str, number: int = 0) -> None:
    at = answer["requested_at"] + timedelta(seconds=20)
    fixed = {"signal_id": f"{answer['event_id']} {number}", "response_id": answer["response_id"], "origin": "explicit"}
    rows.add(USER_SIGNALS, **fixed | {"signaled_at": at, "date": at.date()} | SIGNALS[kind](answer))


def ids(kind: str, number: int) -> str | None:
    """Give the id of an answer by how a gateway makes them."""
    return {"one": "chatcmpl-constant", "counter": f"chatcmpl-{number % 2}", "own": f"chatcmpl-own-{number}"}.get(kind)


answers = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE),
        st.sampled_from(["one", "one", "counter", "own", "none"]),
        st.sampled_from(QUESTIONS),
        st.booleans(),  # in the room
        st.booleans(),  # of an earlier time, and no longer in the log
        st.sampled_from(sorted(SIGNALS)),
    ),
    min_size=6,
    max_size=16,
)


def written(lake: Lake, some: Iterable[tuple[Any, ...]]) -> Rows:
    """Write answers and all that is made of them; those that are no longer in the log are of others than alice."""
    rows, kept = Rows(lake), Rows(lake)
    for number, (person, kind, question, in_room, is_old, signal) in enumerate(some):
        is_gone = is_old and person != "alice"
        columns: dict[str, Any] = {"question": question}
        if in_room:
            # Who repeats the words of another in the same conversation loses that call.
            columns = {"question": f"This is what {person} asks in here.", "chat_id": ROOM}
        if is_gone:
            at = NOW - timedelta(days=90 - number)
            columns |= {"requested_at": at, "date": at.date(), "chat_id": f"old chat of {person}"}
        answer = add_answer(kept if is_gone else rows, person, number, ids(kind, number), **columns)
        add_made_of(rows, answer)
        add_signal(rows, answer, signal)
        if is_gone:
            continue
        line = f'{{"user":{{"id":"{person}"}},"response":{{"body":"{{\\"id\\":\\"{answer["response_id"]}\\"'
        rows.add(REJECTED, None, raw=line.encode(), message=person)
    add_answer(rows, "bob", 100, "chatcmpl-own-bob")
    add_answer(rows, "carol", 101, "chatcmpl-own-carol")
    rows.write()
    return rows


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(answers)
def test_all_of_a_person_goes_and_nothing_of_others(some: list[tuple[Any, ...]]) -> None:
    """Whatever ids answers have, an erasure of a person takes the rows that are that person's and leaves the others."""
    with tempfile.TemporaryDirectory() as root:
        lake = Lake(root)
        rows = written(lake, [("alice", "one", QUESTIONS[0], False, False, "person"), *some])
        erase(lake, Subject(user="alice"), NOW)
        assert keys_of(lake) == without(rows.keys(), "alice")
        lines = lake.table(REJECTED).read(["message"])["message"].to_pylist()
        # A line that has but a name of five letters says nothing of the person.
        kept = [one[0] for one in some if (one[1] == "none" if one[0] == "alice" else not one[4])]
        assert sorted(lines) == sorted(kept)
        assert b"as alice got it" not in everywhere(root)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_a_like_that_names_nobody(lake: Lake) -> None:
    """A rating with a shared id, or none, and neither person nor conversation goes where it holds words, and stays
    where it has none or came before the person's answers; both are counted."""
    rows = Rows(lake)
    for number, (person, response_id) in enumerate([("alice", "chat"), ("bob", "chat"), ("alice", None)]):
        add_answer(rows, person, number, response_id)
    ratings = {
        "words": {"response_id": "chat", "details": '{"comment": "As I said."}'},
        "words without an id": {"response_id": None, "details": '{"comment": "As I said."}'},
        "title": {"response_id": "chat", "details": '{"log": {"user_title": "Queen"}}'},
        "bare": {"response_id": "chat", "details": '{"modelId": "app", "log": {"status": 200}}'},
        "early": {"response_id": "chat", "details": '{"comment": "As I said."}', "signaled_at": NOW - timedelta(1)},
        "of another": {"response_id": "chat", "chat_id": "chat of bob", "details": '{"comment": "As I said."}'},
    }
    for signal_id, rating in ratings.items():
        rows.add(
            USER_SIGNALS, **{"signal_id": signal_id, "signaled_at": NOW + timedelta(1), "origin": "explicit"} | rating
        )
    rows.write()
    receipt = erase(lake, Subject(user="alice"), NOW)
    assert keys_of(lake)["user_signals"] == ["bare", "early", "of another"]
    assert in_doubt(receipt) == {"app user_signals": (3, 1)}


def test_a_case_with_a_shared_id_of_which_half_is_known(lake: Lake) -> None:
    """A case goes with its question and answer; one with the question alone is another's where they have said both,
    else it goes in doubt with its replays; one of another day stays."""
    rows = Rows(lake)
    alice, bob = (add_answer(rows, person, number, "chat") for number, person in enumerate(("alice", "bob")))
    cases = {
        "hers": alice["answer"],
        "his": bob["answer"],
        "edited": "An answer in other words.",
        "earlier": "What carol was told.",
    }
    for case_id, answer in cases.items():
        day = NOW.date() - timedelta(days=90) if case_id == "earlier" else NOW.date()
        of_case = {"case_id": case_id, "source_response_id": "chat", "source_date": day}
        rows.add(GROUND_TRUTH, question=f" {QUESTIONS[0]}\n", answer=answer, **of_case)
        rows.add(REPLAYS, replay_id=case_id, case_id=case_id, response_id="chat", trace_id=f"replay of {case_id}")
        call = {"trace_id": f"replay of {case_id}", "user_id": "dialwatch", "chat_id": None, "origin": "replay"}
        add_answer(rows, f"again {case_id}", 9, "chat", **call)
    rows.write()
    receipt = erase(lake, Subject(user="alice"), NOW)
    left = keys_of(lake)
    assert left["ground_truth"] == left["replays"] == ["earlier", "his"]
    assert left["parsed_logs"] == ["again earlier 9", "again his 9", "bob 1"]
    assert in_doubt(receipt) == {"app ground_truth": (1, 0), "app replays": (1, 0)}


def test_lines_with_a_shared_id(lake: Lake) -> None:
    """A line with a shared id stays where it names another person or conversation, however escaped, else it goes in
    doubt; a shorter id is not looked for."""
    rows = Rows(lake)
    for number, (person, response_id) in enumerate([("alice", "chatcmpl-0"), ("bob", "chatcmpl-0"), ("alice", "chat")]):
        add_answer(rows, person, number, response_id)
    lines = {
        "bob": b'{"user":{"id":"bob"},"response":{"body":"{\\"id\\":\\"chatcmpl-0\\"',
        "his chat": b'{"log":"{\\"chat\\":{\\"id\\":\\"chat%20of%20bob\\"},\\"body\\":\\"chatcmpl-0',
        "nobody": b'"body":"{\\"id\\":\\"chatcmpl-0\\"',
        "alice": b'{"chat":{"id":"chat of alice"},"user":{"id":"bob"},"response":{"body":"chatcmpl-0',
        "short": b'{"response":{"body":"{\\"id\\":\\"chat\\"',
    }
    for message, raw in lines.items():
        rows.add(REJECTED, None, raw=raw, message=message)
    rows.write()
    receipt = erase(lake, Subject(user="alice"), NOW)
    assert sorted(lake.table(REJECTED).read(["message"])["message"].to_pylist()) == ["bob", "his chat", "short"]
    assert in_doubt(receipt) == {"_rejected": (1, 0)}


def test_the_worst_answers_of_an_alert(lake: Lake) -> None:
    """Entries go that name an answer of the person by its row, by its own id, or by one that others have too."""
    rows = Rows(lake)
    for number, (person, response_id) in enumerate([("alice", "chat"), ("alice", None), ("bob", "chat"), ("bob", "b")]):
        add_answer(rows, person, number, response_id)
    worst = [{"response_id": one, "value": 0.0} for one in ("chat", "alice 1", "b")]
    rows.add(ALERTS, change_id="c", details=json.dumps({"worst": worst}))
    rows.write()
    erase(lake, Subject(user="alice"), NOW)
    [alert] = lake.table(ALERTS, "app").read(["details"]).to_pylist()
    assert [one["response_id"] for one in json.loads(alert["details"])["worst"]] == ["b"]


def test_an_id_of_several_answers_names_none(lake: Lake) -> None:
    """`--response` with an id of several answers is refused with their rows, and nothing is erased; the event id
    of one erases that one alone."""
    rows = Rows(lake)
    for number, person in enumerate(("alice", "bob")):
        answer = add_answer(rows, person, number, "chat")
        add_made_of(rows, answer)
        add_signal(rows, answer, "person and conversation")
    rows.write()
    with pytest.raises(SeveralAnswersError, match="several answers have the id 'chat'") as refused:
        erase(lake, Subject(response="chat"), NOW)
    assert [(one.deployment, one.event_id) for one in refused.value.answers] == [("app", "alice 0"), ("app", "bob 1")]
    assert keys_of(lake) == rows.keys()
    erase(lake, Subject(response="bob 1"), NOW)
    assert keys_of(lake) == without(rows.keys(), "bob")


@pytest.mark.parametrize("trace_id", ["t", None], ids=["traced", "tracing off"])
def test_an_application_that_hands_on_the_id_of_its_model_is_one_answer(lake: Lake, trace_id: str | None) -> None:
    rows = Rows(lake)
    add_answer(rows, "alice", 0, "r", trace_id=trace_id)
    rows.add(PARSED_LOGS, "model", event_id="behind", response_id="r", trace_id=trace_id, is_entry=False)
    rows.write()
    erase(lake, Subject(response="r"), NOW)
    assert keys_of(lake) == {}


def test_an_answer_whose_call_is_no_longer_in_the_log(lake: Lake) -> None:
    """Its scores are found by its id, and by its event id; where several answers had the id it names none."""
    rows = Rows(lake)
    for person, response_id in (("alice", "chat"), ("bob", "chat"), ("carol", "own")):
        row = {"event_id": f"{person} 0", "response_id": response_id}
        rows.add(SCORES, score_id=f"{person} 0", **row)
        rows.add(ANCHORS, **row)
    rows.write()
    with pytest.raises(SeveralAnswersError):
        erase(lake, Subject(response="chat"), NOW)
    erase(lake, Subject(response="own"), NOW)
    assert keys_of(lake) == without(rows.keys(), "carol")
    erase(lake, Subject(response="alice 0"), NOW)
    assert keys_of(lake) == {"anchors": ["bob 0"], "scores": ["bob 0"]}
