"""Finding of one check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How one check ended."""

    OK = "ok"
    WARNING = "WARNING"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and if it is not well what to do."""

    subject: str
    verdict: Verdict
    text: str


def well(subject: str, text: str) -> Finding:
    """Return the finding of something that works."""
    return Finding(subject, Verdict.OK, text)


def warning(subject: str, text: str) -> Finding:
    """Return the finding of something that works and that a person has to decide on."""
    return Finding(subject, Verdict.WARNING, text)


def failed(subject: str, text: str) -> Finding:
    """Return the finding of something that a person must mend."""
    return Finding(subject, Verdict.FAILED, text)


def skipped(subject: str, text: str) -> Finding:
    """Return the finding of something that is not configured."""
    return Finding(subject, Verdict.SKIPPED, text)


def guarded(subject: str, look: Callable[[], list[Finding]], advice: str) -> list[Finding]:
    """Return what a look finds; what it raises is one failed finding, with the advice."""
    from lake.store.store_errors import without_rows

    try:
        return look()
    except Exception as error:  # a check that ends early would hide what the others find
        return [failed(subject, f"{without_rows(error)}: {advice}")]
