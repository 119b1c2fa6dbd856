"""Values that a table, a date or a JSON writer cannot take, sent to the real endpoint."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.settings import HttpSettings
from dialwatch.serving.server import BackgroundServer
from lake.spec.root_tables import REJECTED
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

pytestmark = pytest.mark.slow

LIKE = {"deployment": "rag-app", "response_id": "r-1", "signal": "like"}
JSON = {"Content-Type": "application/json"}
NUMBERS = itertools.count()


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


POISON = st.sampled_from(
    [
        "0001-01-01T00:00:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999999",
        "9999-12-31T23:59:59-14:00",
        "a\0b",
        "\ud800",
        "",
        "..",
        "\u212a" * 60,
        "x" * 70_000,
        2**63,
        -(2**64),
        10**400,
        1.7e308,
        float("inf"),
        float("nan"),
        nested(200),
        nested(300),
        nested(700),
        {},
        [None],
        None,
        True,
    ]
)
_MEMBERS = (
    "deployment parent_deployment execution_path assembled_response operation_duration_ms unknown chat.id user.id "
    "user.title project.id trace.trace_id trace.core_span_id trace.core_parent_span_id request.time request.uri "
    "request.body response.status response.body token_usage.prompt_tokens token_usage.price token_usage.unknown"
)
_ASKED = ("model", "stream", "messages", "custom_fields", "temperature")
_ANSWERED = ("id", "model", "choices", "usage", "unknown")


@st.composite
def odd_lines(draw: st.DrawFn) -> bytes:
    """A line of Core with some of its members, or of those of its bodies, replaced."""
    line = json.loads(chat_line(next(NUMBERS)))
    body, answer = json.loads(line["request"]["body"]), json.loads(line["assembled_response"])
    body |= draw(st.dictionaries(st.sampled_from(_ASKED), POISON, max_size=2))
    body["messages"] = draw(st.just(body["messages"]) | POISON.map(lambda odd: [{"role": "user", "content": odd}]))
    answer |= draw(st.dictionaries(st.sampled_from(_ANSWERED), POISON, max_size=2))
    line["request"]["body"], line["assembled_response"] = json.dumps(body), json.dumps(answer)
    for path, odd in draw(st.dictionaries(st.sampled_from(_MEMBERS.split()), POISON, max_size=3)).items():
        *outer, name = path.split(".")
        inside = line
        for key in outer:
            inside = inside.setdefault(key, {})
        inside[name] = odd
    return json.dumps(line).encode()


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Collector:
    return Collector(Lake(str(tmp_path_factory.mktemp("lake"))), CollectorSettings())


@pytest.fixture(scope="module")
def client(collector: Collector) -> Iterator[httpx.Client]:
    app = create_app(collector, HttpSettings(commit_seconds=0))
    with (
        BackgroundServer(app, "127.0.0.1:0") as server,
        httpx.Client(base_url=server.url, headers=JSON, timeout=60) as client,
    ):
        yield client


@given(line=odd_lines())
@settings(max_examples=60)
def test_no_line_keeps_the_others_out(collector: Collector, client: httpx.Client, line: bytes) -> None:
    """Whatever a line holds, it is a row or a rejection, and the one behind it is stored."""
    before = collector.totals
    assert client.post("/data", content=line + b"\n" + chat_line(next(NUMBERS))).status_code == 200
    assert collector.totals.add_up()
    assert collector.totals.lines == before.lines + 2
    assert collector.totals.stored > before.stored


@given(
    odd=st.dictionaries(
        st.sampled_from([*LIKE, "value", "confidence", "signaled_at", "user_id", "details", "signal_id", "x"]),
        POISON,
        max_size=2,
    )
)
@settings(max_examples=50)
def test_no_signal_keeps_the_others_out(collector: Collector, client: httpx.Client, odd: dict[str, Any]) -> None:
    """Whatever an item holds, it is a row or a rejection, and the one behind it is stored."""
    before = collector.totals
    good = LIKE | {"signal_id": f"good-{next(NUMBERS)}"}
    body = json.dumps(LIKE | {"signal_id": f"odd-{next(NUMBERS)}"} | odd) + "\n" + json.dumps(good)
    assert client.post("/signals", content=body.encode()).status_code == 200
    assert collector.totals.add_up()
    assert collector.totals.signals > before.signals


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"signaled_at": "0001-01-01T00:00:00+14:00"}, "outside the years 1 to 9999"),
        ({"details": {"a": nested(300)}}, "nests more than 250 levels deep"),
    ],
    ids=["year", "depth"],
)
def test_a_signal_that_no_table_takes_is_rejected_with_its_bytes(
    collector: Collector, client: httpx.Client, odd: dict[str, Any], says: str
) -> None:
    """The others of its array are stored, and the array that comes again adds no row."""
    bad, good = json.dumps(LIKE | odd), json.dumps(LIKE | {"signal_id": says})
    before = collector.totals
    for _ in range(2):
        reply = client.post("/signals", content=f"[{bad}, {good}]".encode()).json()
        assert (reply["accepted"], reply["rejected"]) == (1, 1)
        assert says in reply["errors"][0]["reason"]
    counts = collector.totals
    assert (counts.signals - before.signals, counts.duplicates - before.duplicates) == (1, 2)
    rejected = collector.lake.table(REJECTED).read(["raw", "message"]).to_pylist()
    assert [says in row["message"] for row in rejected if row["raw"] == bad.encode()] == [True]
