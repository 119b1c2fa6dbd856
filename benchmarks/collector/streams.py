"""Benchmark of streams that are merged again, as Core's own answer is missing or not whole.

    python -m benchmarks.collector.streams [--rounds 60]

CPU microseconds an answer, the least of the rounds, of 5, 20 and 400 pieces of text: chat completions, calls of tools,
Messages and Responses. The garbage collector is off while it measures.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence
from typing import Any

from collector.parsing.answer.answer import read_answer

_PIECES = (5, 20, 400)
_SECONDS = 0.004


def main() -> None:
    """Print a line for each kind and number of pieces."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    gc.disable()
    for kind, stream in (("chat", _chat), ("tools", _tools), ("messages", _messages), ("responses", _responses)):
        for pieces in _PIECES:
            print(f"{kind:<10} {pieces:>4} {_microseconds(stream(pieces), rounds):8.1f}", flush=True)


def _microseconds(body: str, rounds: int) -> float:
    def spent(times: int) -> float:
        began = time.process_time()
        for _ in range(times):
            read_answer("{}", body, status=200)
        return (time.process_time() - began) / times

    times = int(_SECONDS / max(spent(10), 1e-7)) + 1
    return min(spent(times) for _ in range(rounds)) * 1e6


def _chat(pieces: int) -> str:
    return _completion([{"content": f"w{number} "} for number in range(pieces)])


def _tools(pieces: int) -> str:
    return _completion([{"tool_calls": [{"index": 0, "function": {"arguments": f"w{n} "}}]} for n in range(pieces)])


def _completion(deltas: Sequence[dict[str, Any]]) -> str:
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": None}
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices[-1][0]["finish_reason"] = "stop"
    return "".join(f"data: {json.dumps(whole | {'choices': one})}\n\n" for one in choices) + "data: [DONE]\n\n"


def _messages(pieces: int) -> str:
    delta = {"type": "content_block_delta", "index": 0}
    return _named(
        {"type": "message_start", "message": {"id": "m", "type": "message", "content": [], "model": "c"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({**delta, "delta": {"type": "text_delta", "text": f"w{number} "}} for number in range(pieces)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )


def _responses(pieces: int) -> str:
    words = [f"w{number} " for number in range(pieces)]
    content = [{"type": "output_text", "text": "".join(words), "annotations": []}]
    item = {"type": "message", "id": "x", "role": "assistant", "status": "completed", "content": content}
    response = {"id": "r", "object": "response", "status": "completed", "model": "m"}
    return _named(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "x"}},
        *({"type": "response.output_text.delta", "output_index": 0, "delta": word} for word in words),
        {"type": "response.completed", "response": {**response, "output": [item]}},
    )


def _named(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


if __name__ == "__main__":
    main()
