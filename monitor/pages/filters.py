"""Filters of the templates: numbers, names and durations as the pages write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from markupsafe import Markup

from lake.spec.metric_names import metric_name, metric_names, quoted_name
from lake.spec.vocabulary import JudgeKind
from monitor.detect.regression import Reading, Shift
from monitor.notify.texts.http_status import failed_requests
from monitor.notify.texts.plain import money, percent
from runtime.durations import duration

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


def whole(number: int) -> str:
    """A count with its thousands set apart: 12,345."""
    return f"{number:,}"


def short(number: float) -> str:
    """A count in at most four characters and a letter: 9,871, 12.3k, 4.56M."""
    for size, letter in _LARGE:
        if number >= size:
            scaled = number / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 999.5 else f"{scaled:,.0f}{letter}"
    return f"{number:,.0f}"


def score(value: float | None) -> str:
    """A score with two decimals; an en dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def breakable(name: str) -> Markup:
    """A name that may go on in the next line after each underscore or slash, and is otherwise shown as it is."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/])", name))


def first_capital(text: str) -> str:
    """A text with a capital at its beginning, and otherwise as it is."""
    return text[:1].upper() + text[1:]


def shift(found: Shift) -> str:
    """A difference with its sign and interval: -0.12 (95 %: -0.15 to -0.09)."""
    return f"{found.mean:+.2f} (95 %: {found.lower:+.2f} to {found.upper:+.2f})"


def progress(reading: Reading) -> str:
    """How far a reference is learned: 120 of 200 conversations, 3 hours to go."""
    seen, needed = reading.reference_observations, reading.reference_needed
    # Enough conversations are not enough: they must be of enough days.
    count = f"{whole(seen)} conversations" if seen >= needed else f"{whole(seen)} of {whole(needed)} conversations"
    return f"{count}, {duration(reading.learning_left)} to go" if reading.learning_left else count


def plain_name(metric: str) -> str:
    """Name of a metric or limit with a capital, as a heading has it: Facts found; empty where it has none."""
    name = metric_name(metric)
    return "" if name == metric and metric not in metric_names() else name[0].upper() + name[1:]


_JUDGES: Mapping[str, str] = {
    JudgeKind.LEXICAL: "by comparing words",
    JudgeKind.EMBEDDING: "by an embedding model",
    JudgeKind.MODEL: "by a model of its own",
    JudgeKind.LLM: "by a language model",
    JudgeKind.RATINGS: "by people's ratings",
    JudgeKind.OUTSIDE: "by another program",
}


def judge_words(judge: str) -> str:
    """What gave a score, in words: by comparing words; a judge of the configuration has its name."""
    return " and ".join(_JUDGES.get(one, one) for one in judge.split("+"))


FILTERS: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        whole,
        short,
        money,
        score,
        percent,
        breakable,
        duration,
        first_capital,
        progress,
        shift,
        plain_name,
        metric_name,
        quoted_name,
        judge_words,
        failed_requests,
    )
}
