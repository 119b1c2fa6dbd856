"""Options of a metric: fields of its dataclass that say what they do, show in its version, and may show in its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Form:
    """A value of an option that a name can ask for: `facts_recall_exact` is `facts_recall` with the form `exact`.

    `meaning` says for docs/metrics.md what is different then, `aliases` are other names of a metric in this form.
    """

    ending: str
    value: object
    meaning: str
    aliases: tuple[str, ...] = ()


def option(meaning: str, *forms: Form) -> Mapping[str, Any]:
    """Give the metadata of a field that is an option: what its values do, and the forms that names can ask for."""
    return {"meaning": meaning, "forms": forms}


CUT = option("score the first k only; None for all")
"""Metadata of the option `k`, which a name asks for as `id_recall@5`."""

ANY_SCRIPT = Form(
    "any_script", "any_script", "Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut into small tokens"
)
TOKENISATION = option(
    "`any_script`: Chinese is cut into characters, Japanese kana, Thai, Lao, Khmer and Burmese into pairs of letters, "
    "all else as `squad`; `squad` (metric name `..._squad`): as unitxt, a text without spaces is one token",
    Form("squad", "squad", "tokens are those of unitxt, to which a text without spaces is one token"),
)
"""Metadata of the option `tokenisation` of metrics that count tokens."""


def options_of(metric: Any) -> dict[str, str]:
    """Give the options of a metric by name, and what they do."""
    return {field.name: field.metadata["meaning"] for field in fields(metric) if "meaning" in field.metadata}


def forms_of(metric: Any) -> dict[str, tuple[Form, ...]]:
    """Give the forms of a metric by the name of their option."""
    return {field.name: field.metadata["forms"] for field in fields(metric) if field.metadata.get("forms")}


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


def tokenised_name(name: str, tokenisation: str) -> str:
    """Give a metric's name with its tokenisation, where that is not the usual one."""
    return name if tokenisation == "any_script" else f"{name}_{tokenisation}"
