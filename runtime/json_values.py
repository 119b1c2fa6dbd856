"""Answers as values that JSON can write, whatever their details hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

_DEEPEST = 100


def json_values(value: Any, depth: int = _DEEPEST) -> Any:
    """Return dicts, lists, texts and numbers: null for NaN and the infinities, a text for what is nested too deep."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    is_record = is_dataclass(value)
    if not (is_record or isinstance(value, Mapping | list | tuple)):
        return msgspec.to_builtins(value, enc_hook=str)
    if depth == 0:
        return _as_text(value)
    if isinstance(value, list | tuple):
        return [json_values(item, depth - 1) for item in value]
    members = {one.name: getattr(value, one.name) for one in fields(value)} if is_record else value
    return {name: json_values(member, depth - 1) for name, member in members.items()}


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value)
    except (RecursionError, TypeError):
        return "nested too deeply to be given"
