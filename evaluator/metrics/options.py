"""Options of a metric: fields of its dataclass, which say what they do and show in its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

CUT_MEANING = "score the first k only; None for all"


def option(meaning: str) -> Mapping[str, str]:
    """Metadata of a field that is an option: what its values do, for docs/metrics.md."""
    return {"meaning": meaning}


def options_of(metric: Any) -> dict[str, str]:
    """Give the options of a metric by name, and what they do."""
    return {field.name: field.metadata["meaning"] for field in fields(metric) if "meaning" in field.metadata}


def version_with(metric: Any, base: str, *names: str) -> str:
    """Give the version of a metric whose options `names` change its arithmetic: `1`, or `1-denominator=k`.

    Values of two conventions are never compared, so they have two versions.
    """
    changed = [
        field.name for field in fields(metric) if field.name in names and getattr(metric, field.name) != field.default
    ]
    return "-".join([base, *(f"{name}={getattr(metric, name)}" for name in changed)])


def checked_cut(k: int | None) -> None:
    """Raise ValueError where k is not a number of contexts, 1 or more."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ValueError(f"k is a whole number of 1 or more, not {k!r}; leave it out to score all contexts")


def cut_name(name: str, k: int | None) -> str:
    """Give the name of a metric that scores the first k only: `id_recall@5`."""
    return name if k is None else f"{name}@{k}"
