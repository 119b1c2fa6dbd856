"""`dialwatch ground-truth bad`: answers that people found bad, the worst first, each with why."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.commands import Done, dialwatch
from tests.dialwatch.commands.test_show import HOSTILE

NOW = datetime.now(UTC)


def answer(name: str, days: int = 1, **columns: Any) -> dict[str, Any]:
    at = NOW - timedelta(days=days)
    made = {"event_id": f"e-{name}", "response_id": name, "response_ids": [name], "kind": "chat_completion"}
    made |= {"status": 200, "is_entry": True, "date": at.date(), "requested_at": at, "question": f"Why {name}?"}
    return made | columns


def signal(about: str, kind: str, value: float, origin: str = "explicit", **columns: Any) -> dict[str, Any]:
    number = f"{about}-{kind}-{columns.get('user_id')}"
    made = {"signal_id": number, "response_id": about, "signal": kind, "value": value, "confidence": 1.0}
    return made | {"origin": origin, "date": NOW.date(), "signaled_at": NOW, "user_id": "u"} | columns


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    rows = [answer(name) for name in ("disliked", "asked-again", "liked", "mixed", "wrong", "disputed", "plain")]
    rows += [answer("old", 60), answer("none", response_id=None, response_ids=[]), answer("failed", status=500)]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    signals = [
        signal("disliked", "dislike", -1, details=json.dumps({"comment": "not so"})),
        signal("disliked", "dislike", -1, user_id="v"),
        signal("asked-again", "regenerate", -0.5, "implicit", confidence=0.5),
        signal("liked", "like", 1),
        signal("mixed", "dislike", -1),
        signal("mixed", "like", 1, user_id="v"),
        signal("wrong", "wrong", -1, "label"),
        signal("wrong", "like", 1),
        signal("disputed", "wrong", -1, "label"),
        signal("disputed", "right", 1, "label", user_id="v"),
        signal("e-none", "wrong", -1, "label"),
        signal("old", "dislike", -1),
        signal("failed", "dislike", -1),
    ]
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))
    return lake


def bad(lake: Lake, *options: str) -> Done:
    return dialwatch("ground-truth", "bad", "--deployment", "rag", "--lake", lake.root, *options)


def test_what_people_found_bad_is_listed_the_worst_first(lake: Lake) -> None:
    """Signals first, then labels alone; neither what is liked, nor what is too old."""
    done = bad(lake)
    blocks = [block.splitlines() for block in done.stdout.split("\n\n")]
    assert [block[-1].strip() for block in blocks] == [
        f"dialwatch show e-{name} --deployment rag" for name in ("disliked", "asked-again", "none", "wrong", "disputed")
    ]
    assert blocks[0][0].startswith("-1.00  ")
    assert blocks[0][0].endswith("  dislike x2 (explicit)")
    assert blocks[0][1:3] == ['  u: "not so"', "  Why disliked?"]
    assert blocks[1][0].startswith("-0.25  ")
    assert blocks[1][0].endswith("  regenerate (implicit)")
    assert blocks[3][0].startswith("labelled  ")
    assert "wrong (label)" in blocks[3][0]
    assert blocks[4][0].endswith("people disagree: 50% say right")
    shown = dialwatch(*blocks[0][-1].split()[1:], "--lake", lake.root)
    assert "Why disliked?" in shown.stdout


def test_how_far_back_and_how_many_can_be_said(lake: Lake) -> None:
    older = json.loads(bad(lake, "--since", "90d", "--json").stdout)
    assert {one["event_id"] for one in older} >= {"e-old", "e-disliked"}
    assert bad(lake, "--most", "1").stdout.endswith("... and 4 more; --most shows more of them\n")
    assert bad(lake, "--since", "1h").stdout.startswith("nobody found an answer bad since ")
    assert "neither a time back from now" in bad(lake, "--since", "soon").stderr.replace("│\n│ ", "")
    missing = dialwatch("ground-truth", "bad", "--deployment", "none", "--lake", lake.root)
    assert "there is no deployment 'none'" in missing.stderr


def test_nothing_that_is_stored_is_a_command_to_the_terminal(lake: Lake) -> None:
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([answer("x", event_id=HOSTILE, question=HOSTILE)]))
    details = json.dumps({"comment": HOSTILE})
    hostile = signal("x", HOSTILE, -1, user_id=HOSTILE, details=details)
    broken = signal("x", "dislike", -1, user_id="w", details="[")
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([hostile, broken]))
    for options in ((), ("--json",)):
        done = bad(lake, *options)
        assert done.returncode == 0
        assert {one for one in done.stdout if unicodedata.category(one) in ("Cc", "Cf", "Zl")} == {"\n"}
