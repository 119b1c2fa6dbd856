from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from monitor.detect.regression import Status
from monitor.pages.filters import breakable, judge_words, money, progress, score, short
from monitor.pages.rendering import templates
from tests.monitor.alerting.alerts.test_alerts import READING


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (9871, "9,871"), (12345, "12.3k"), (999_999, "1,000k"), (4_560_000, "4.56M"), (2.5e12, "2.5T")],
)
def test_large_counts_are_short(number, text):
    """Up to 9,999 a count is written out, then in thousands, millions and so on."""
    assert short(number) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0.00"), (1234.5, "1,234.50"), (0.0031, "0.0031"), (2e-7, "0.00000020")]
)
def test_small_money_is_still_money(amount, text):
    """A price far below a cent shows its first two digits."""
    assert money(amount) == text


def test_names_break_after_underscores_and_nowhere_else():
    """The name is escaped, and only the break is markup."""
    assert breakable("<b>_x") == "&lt;b&gt;_<wbr>x"


def test_no_score_is_a_dash():
    """A missing score is not a zero."""
    assert score(None) == "–"


@pytest.mark.parametrize(
    ("seen", "left", "words"),
    [
        (120, timedelta(hours=3), "120 of 200 conversations, 3 hours to go"),
        (343, timedelta(hours=3), "343 conversations, 3 hours to go"),
        (343, None, "343 conversations"),
    ],
)
def test_progress_counts_no_more_than_all(seen: int, left: timedelta | None, words: str) -> None:
    reading = replace(
        READING, status=Status.LEARNING, reference_needed=200, reference_observations=seen, learning_left=left
    )
    assert progress(reading) == words
    macro = templates().get_template("macros.html").module.state  # type: ignore[attr-defined]
    without = dict.fromkeys(("stopped", "judge_stopped", "idle_since", "mix", "anchors"))
    row = SimpleNamespace(reading=reading, can_be_watched=True, **without)
    assert words in str(macro(row))


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ("lexical", "by comparing words"),
        ("embedding+strict", "by an embedding model and strict"),
        ("llm:gpt-4o", "llm:gpt-4o"),
        ("ratings", "by people's ratings"),
    ],
)
def test_what_gave_a_score_is_said_in_words(judge: str, words: str) -> None:
    assert judge_words(judge) == words
