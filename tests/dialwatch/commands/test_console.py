"""What is shown on the terminal while a command works."""

from __future__ import annotations

import pytest

from dialwatch.commands.console import progress_lines


def test_a_log_has_a_line_of_progress_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """Short work writes none; long work says how many of how many rows are done."""
    now = 0.0
    show = progress_lines(lambda: now)
    for now, done in ((1.0, 64), (59.0, 128), (61.0, 192), (90.0, 256), (122.0, 320)):  # noqa: B007 - the clock
        show(done, 1000)
    assert capsys.readouterr().err == "scored 192 of 1,000\nscored 320 of 1,000\n"
