import json
import time
from collections.abc import Callable

import pytest

from collector.parsing import parse_piece
from tests.collector.parsing.core_lines import core_line

SMALL = 20_000
LARGEST_RATIO = 14
"""Four times the input may take 4 times the work, not 16; processor time on a busy machine is rough."""


def asked(text: str) -> bytes:
    return core_line({"request.body": json.dumps({"messages": [{"role": "user", "content": text}]})})


def answered(body: str) -> bytes:
    return core_line({"assembled_response": "{}", "response.body": body})


PATHOLOGICAL: dict[str, Callable[[int], bytes]] = {
    "backslashes": lambda n: b'{"request":{"body":"' + b"\\" * n,
    "backslashes in a stream": lambda n: answered("data: " + "\\" * n),
    "brackets": lambda n: b"[" * n,
    "brackets in a body": lambda n: answered("[" * n),
    "objects in an answer": lambda n: answered('{"a":' * n),
    "data markers": lambda n: answered("data:" * n),
    "data lines": lambda n: answered("data:\n" * n),
    "broken chunks": lambda n: answered("data: {\n" * n),
    "doc marks": lambda n: asked("<context>" + "<doc " * n),
    "doc heads": lambda n: asked("<context>" + "<doc id='1'>" * n),
    "image marks": lambda n: asked("![" * n + "](data:" * n),
    "NULs": lambda n: b"\0" * n,
    "NULs and marks": lambda n: b'\0{"apiType"' * n,
    "envelopes cut": lambda n: b'{"message":"' * n,
    "percent signs": lambda n: core_line({"chat.id": "%" * n}),
    "percent signs in a title": lambda n: core_line({"user.title": "%" * n}),
    "surrogates": lambda n: core_line({"user.title": "x"}).replace(b'"x"', b'"' + b"\\ud800" * n + b'"'),
    "finish reasons": lambda n: answered('data: {"choices":[{"index":0,"finish_reason":"a"}]}\n\n' * (n // 10)),
}


def seconds(piece: bytes) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        parse_piece(piece)
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_work_grows_with_the_length(name: str) -> None:
    """Log format 1.2: four times a pathological input takes about four times the processor time."""
    make = PATHOLOGICAL[name]
    small, large = seconds(make(SMALL)), seconds(make(4 * SMALL))
    assert large < LARGEST_RATIO * max(small, 0.002)
