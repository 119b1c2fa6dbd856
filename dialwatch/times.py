"""Times as people type them for an option, and as they read them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import typer


def format_time(at: datetime) -> str:
    """Format a time for people."""
    return f"{at.astimezone(UTC):%F %R} UTC"


def moment_of(text: str, option: str) -> datetime:
    """Return a time that was typed as ISO 8601 with a zone; raises BadParameter."""
    example = "2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
    try:
        at = datetime.fromisoformat(text.strip())
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is no time: write it as {example}", param_hint=option) from None
    raise typer.BadParameter(f"{text!r} has no zone: write it as {example}", param_hint=option)


def day_of(text: str, option: str) -> date:
    """Return a date that was typed as ISO 8601; raises BadParameter."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date: write it as 2026-12-01", param_hint=option) from None


def past_moment(text: str, option: str, now: datetime) -> datetime:
    """Return a time back from now, or a date or time, of UTC unless it says otherwise; raises BadParameter."""
    ago = _seconds(text)
    try:
        if isinstance(ago, float):
            return now - timedelta(seconds=ago)
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{option} {text!r} is neither a time back from now, such as 7d or 12h, nor a date or time such as "
            "2026-11-20 or 2026-11-20T09:00"
        ) from None


def moment_after(text: str, option: str, now: datetime) -> datetime:
    """Return the time that is so long from now, as in `30m` or `8h`; raises BadParameter."""
    seconds = _seconds(text)
    try:
        # Who says `--for 8` does not mean the seconds that a bare number has in the configuration.
        if isinstance(seconds, float) and seconds > 0 and text.strip()[-1].isalpha():
            return now + timedelta(seconds=seconds)
    except OverflowError:
        pass
    raise typer.BadParameter(f"{text!r} is no such time: write it as 30m, 8h or 2d", param_hint=option)


def _seconds(text: str) -> object:
    from runtime.durations import reads_seconds

    return reads_seconds("smhd")(text)
