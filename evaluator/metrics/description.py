"""Description of a metric for the documentation: formula, source, range, and what it gives in the odd cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["up", "down", "none"]
"""The values of `scores.direction`, as plain words: who writes a metric, or sets an aspect up, imports no enum."""

NOT_READ = "not read"


@dataclass(frozen=True)
class OddCases:
    """What a metric gives where a side is empty or repeats itself; the metrics of a family mostly share this."""

    empty_answer: str = NOT_READ
    no_contexts: str = NOT_READ
    duplicate_contexts: str = NOT_READ
    no_reference: str = NOT_READ


@dataclass(frozen=True)
class Description:
    """A metric in words, as docs/metrics.md shows it.

    `asks` is the question that the value answers, `low` and `high` its range, both included, and `direction` says
    which end is better; `binary` says that no other values than 0 and 1 occur. `disagreement` says where packages
    give other numbers, and which are given here. `aliases` are other names of the metric, in other packages or in
    short; `former_names` are those that it had here, and who uses one is warned.
    """

    asks: str
    formula: str
    source: str
    odd_cases: OddCases
    low: float = 0.0
    high: float = 1.0
    direction: Direction = "up"
    binary: bool = False
    disagreement: str = ""
    aliases: tuple[str, ...] = ()
    former_names: tuple[str, ...] = ()
