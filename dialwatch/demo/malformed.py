"""Malformed lines, as a log holds them when something goes wrong around Core."""

from __future__ import annotations

import random
from typing import Literal

Malformation = Literal["truncated", "stack_trace", "control_character", "glued"]
MALFORMATIONS: tuple[Malformation, ...] = ("truncated", "stack_trace", "control_character", "glued")


def malformed_line(kind: Malformation, line: bytes, other: bytes, rng: random.Random) -> bytes:
    """Spoil a line: cut it short, put it with `other` on one line, or write what Core and Java do.

    Truncated is what a process leaves that dies while it writes; a stack trace takes the line's place; a
    control character stands raw in the request's body, as Core wrote it until 2026; glued has lost a line feed.
    """
    if kind == "truncated":
        return line[: rng.randrange(20, len(line) - 2)]
    if kind == "stack_trace":
        return b"\tat com.epam.aidial.core.server.log.GfLogStore.doSave(GfLogStore.java:%d)" % rng.randrange(20, 200)
    if kind == "control_character":
        before, mark, after = line.partition(b'"body":"')
        return before + mark + b"\x0b" + after
    return line + other
