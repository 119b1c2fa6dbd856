"""Parts that the reports of an answer and of a case share: sections, texts, times and signals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from dialwatch.reports.terminal_text import in_lines, in_one_line
from lake.queries.answer_details import AnswerSignal


def report_of(sections: Iterable[list[str]]) -> str:
    """Return the sections that have lines, with an empty line between two."""
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def text_lines(text: str | None, *, indented: bool = False) -> str:
    """Return a text in lines, or that there is none."""
    lines = in_lines(text) if text else "  (none)" if text is None else "  (empty)"
    return "\n".join(f"  {line}".rstrip() for line in lines.split("\n")) if indented else lines


def time_of(at: datetime | None) -> str:
    """Return a time to the second."""
    return "(no time)" if at is None else f"{at:%F %T} UTC"


def signal_lines(signal: AnswerSignal) -> Iterator[str]:
    """Yield when somebody said what of an answer, with the comment."""
    who = ", ".join(in_one_line(one) for one in (signal.origin, signal.user_id) if one)
    value = "" if signal.value is None else f" ({signal.value:.4g})"
    yield f"  {time_of(signal.signaled_at)} {in_one_line(signal.signal or '')}{value}, {who}"
    if signal.comment:
        yield text_lines(signal.comment, indented=True)
