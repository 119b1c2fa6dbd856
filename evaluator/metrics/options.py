"""Options of a metric: fields of its dataclass that say what they do, show in its version, and may show in its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from evaluator.metrics.language.tokens import Tokenisation

Value = TypeVar("Value")


@dataclass(frozen=True)
class Form:
    """A value of an option that a name can ask for: `facts_recall_exact` is `facts_recall` with the form `exact`.

    `meaning` says for docs/metrics.md what is different then, `aliases` are other names of a metric in this form.
    """

    ending: str
    value: object
    meaning: str
    aliases: tuple[str, ...] = ()


def option(
    default: Value,
    meaning: str,
    *forms: Form,
    check: Callable[[Value], object] | None = None,
    is_in_version: bool = False,
) -> Value:
    """Return a field that is an option: what its values do, and the forms that names can ask for.

    It is the default of a dataclass' field, or of a keyword-only parameter of a metric's function. `check` raises
    ValueError for a wrong value. `is_in_version` says that it changes values and shows in no name, so that it has to
    show in the version.
    """
    metadata = {"meaning": meaning, "forms": forms, "check": check, "is_in_version": is_in_version}
    return field(default=default, metadata=metadata)


def required_option(meaning: str) -> Any:
    """Return an option without a default."""
    return field(metadata={"meaning": meaning})


def cut_option() -> int | None:
    """Return the option `k`, which a name asks for as `id_recall@5`."""
    return option(None, "score the first k only; None for all", check=checked_cut)


ANY_SCRIPT = Form(
    "any_script", "any_script", "Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut into small tokens"
)


def tokenisation_option() -> Tokenisation:
    """Return the option `tokenisation` of metrics that count tokens."""
    return option(
        "any_script",
        "`any_script`: Chinese is cut into characters, Japanese kana, Thai, Lao, Khmer and Burmese into pairs of "
        "letters, all else as `squad`; `squad` (metric name `..._squad`): as unitxt, a text without spaces is one "
        "token",
        Form("squad", "squad", "tokens are those of unitxt, to which a text without spaces is one token"),
    )


def options_of(metric: Any) -> dict[str, str]:
    """Return the options of a metric by name, and what they do; one that is no dataclass has none."""
    if not is_dataclass(metric):
        return {}
    return {field.name: field.metadata["meaning"] for field in fields(metric) if "meaning" in field.metadata}


def forms_of(metric: Any) -> dict[str, tuple[Form, ...]]:
    """Return the forms of a metric by the name of their option."""
    return {field.name: field.metadata["forms"] for field in fields(metric) if field.metadata.get("forms")}


def check_options(metric: Any) -> None:
    """Raise ValueError where an option of a metric has a wrong value."""
    for one in fields(metric):
        if check := one.metadata.get("check"):
            check(getattr(metric, one.name))


def version_of(metric: Any, base: str) -> str:
    """Return the version of a metric with the options that change its arithmetic: `1`, or `1-denominator=k`.

    Values of two conventions are never compared, so they have two versions.
    """
    changed = [
        one.name
        for one in fields(metric)
        if one.metadata.get("is_in_version") and getattr(metric, one.name) != one.default
    ]
    return "-".join([base, *(f"{name}={getattr(metric, name)}" for name in changed)])


def checked_cut(k: int | None) -> None:
    """Raise ValueError where k is not a number of contexts, 1 or more."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ValueError(f"k is a whole number of 1 or more, not {k!r}; leave it out to score all contexts")


def cut_name(name: str, k: int | None) -> str:
    """Return the name of a metric that scores the first k only: `id_recall@5`."""
    return name if k is None else f"{name}@{k}"
