"""Discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2


def dcg(gains: Sequence[float]) -> float:
    """Sum of gains by rank, each divided by log2(rank + 1), rank from 1."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)
