"""Formatting of the regression benchmark's figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def in_words(hours: NDArray[np.float64]) -> str:
    """Median and 90 % quantile; none where fewer streams are found than that."""
    if not len(hours):
        return "always in alarm"
    shown = (np.quantile(hours, share, method="higher") for share in (0.5, 0.9))
    return " / ".join(f"{value:.0f}" if math.isfinite(value) else "-" for value in shown)


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print it as markdown."""
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)
