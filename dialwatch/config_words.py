"""Words for values of settings that cannot be used: what was given, what is needed, and an example."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from datetime import timedelta
from enum import Enum
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

_EXAMPLES = {
    "bootstrap_servers": '["broker:9092"]',
    "deployments": '["support-*"]',
    "base_url": '"https://dial.example.com"',
    "judges": '{strict: {base_url: "https://dial.example.com", deployment: gpt-4o, api_key_file: /run/secrets/key}}',
    "leave_out": "[embedding]",
    "mail": "{server: mail.example.com, sender: watch@example.com, receivers: [{name: team, to: [a@example.com]}]}",
    "metrics": "[faithfulness_kprecision, context_present]",
    "paths": '["/var/log/dial/*.log"]',
    "project_origins": "{nightly-tests: test}",
    "retention": "{parsed_logs: 90d}",
    "root": "lake-data",
    "silences": '[{deployment: faq-bot, until: "2026-12-01T08:00:00Z", comment: migration}]',
    "receivers": "[{name: team, to: [team@example.com]}]",
    "to": "[team@example.com]",
    "topics": "[dial-core-logs]",
    "until": '"2026-12-01T08:00:00Z"',
    "webhooks": '[{name: team, url: "https://example.com/hook", secret_file: /run/secrets/webhook}]',
}
"""By the key, where its default is none or says too little."""
_NEEDED = {
    "int": ("a whole number", "5"),
    "float": ("a number, or a time", "30s, 5m, 24h or 90d"),
    "time_delta": ("a time", "30s, 5m, 24h or 90d"),
    "bool": ("true or false", "true"),
    "string": ("a text", '"..."'),
    "list": ("a list", "[first, second]"),
    "tuple": ("a list", "[first, second]"),
    "frozen_set": ("a list", "[first, second]"),
    "set": ("a list", "[first, second]"),
    "dict": ("a mapping", "{name: value}"),
    "mapping": ("a mapping", "{name: value}"),
    "model": ("keys of its own", "{key: value}"),
    "datetime": ("a time with a zone", '"2026-12-01T08:00:00Z"'),
    "url": ("an address", "https://example.com/hook"),
}
"""By how pydantic's name of the error begins: what is needed, and an example where no other is known."""

_MATCHERS = (
    "a metric is a name, and its ending chooses who decides whether a chunk holds a fact: a judge in "
    "facts_recall_judge, facts_precision_judge and facts_f1_judge; facts_recall_statement, "
    "_embedding, _exact and _trimmed ask none"
)
_SECONDS_OF_UNITS = (60, 3600, 86400)
"""Limits that are times."""


def words_of(problem: ErrorDetails, field: FieldInfo | None, known: str) -> str:
    """Say what is wrong with a value; `field` is its setting, `known` the keys of the section that it stands for."""
    kind, given, limits = problem["type"], _shown(problem["input"]), problem.get("ctx", {})
    key = str(next((part for part in reversed(problem["loc"]) if isinstance(part, str)), ""))
    if kind == "string_type" and key == "metrics" and isinstance(problem["input"], Mapping):
        return f"{given} is not a text: {_MATCHERS}"
    if kind in ("literal_error", "enum"):
        return f"must be one of {str(limits['expected']).replace(' or ', ', ')}; {given} is none of them"
    if kind == "too_short":
        return f"is empty: give at least {limits['min_length']}, such as {_EXAMPLES.get(key, '[first]')}"
    needed = next((words for name, words in _NEEDED.items() if kind.startswith(f"{name}_")), None)
    if needed is None:
        limit = limits.get("ge", limits.get("gt", 0))
        unit = "; it is in seconds, and 30s, 5m, 24h or 90d can be written" if limit in _SECONDS_OF_UNITS else ""
        return problem["msg"].removeprefix("Value error, ").replace("Input should be", f"{given} must be") + unit
    what, example = needed
    if kind.startswith("model_") and known:
        return f"is {given} and takes keys of its own: {known}"
    return f"{given} is not {what}: write one such as {_EXAMPLES.get(key) or _default_of(field, what) or example}"


def unknown_key(key: object, known: str) -> str:
    """Say that a section has no such key, and which it has."""
    of_matchers = f"; {_MATCHERS}" if key == "matcher" else ""
    return "unknown key" + of_matchers + (f"; known here: {known}" if known else "")


def _shown(given: Any) -> str:
    """Return a value in words; a text may be a secret in the wrong place, and is not shown."""
    if given is None:
        return "nothing (null)"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, int | float):
        return f"{given:.12g}"
    if isinstance(given, Mapping):
        return "a mapping"
    if isinstance(given, str):
        return "a text"
    return "a list" if isinstance(given, Sequence | Set) else "this value"


def _default_of(field: FieldInfo | None, what: str) -> str | None:
    """Return the default of a setting as YAML has it, where it shows what is needed."""
    default = PydanticUndefined if field is None else field.default
    if isinstance(default, timedelta):
        default = default.total_seconds()
    if isinstance(default, Enum) or default in (PydanticUndefined, None, (), [], {}, frozenset()):
        return None
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int | float):
        return f"{default:.12g}" if what != "a time" else f"{default:g}s"
    if isinstance(default, str):
        return json.dumps(default)
    return f"[{', '.join(map(str, default))}]" if isinstance(default, list | tuple) else None
