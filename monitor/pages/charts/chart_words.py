"""Text alternatives of the charts: what each shows, in words."""

from __future__ import annotations

from datetime import datetime, timedelta

from monitor.pages.charts.time_chart import TimeChart
from monitor.pages.times import Times


def title_of(chart: TimeChart, times: Times) -> str:
    """What the chart is of, and its period."""
    period = f"{times.brief_moment(chart.begin)} to {times.brief_moment(chart.end)}"
    return f"{chart.name}: {chart.quantity} by {slot_words(chart.slot)}, {period}"


def finding_of(chart: TimeChart, times: Times) -> str:
    """What the chart shows: first and last, lowest and highest, the reference, and what happened."""
    known = [(place, point.value) for place, point in enumerate(chart.points) if point.value is not None]
    if not known:
        return "No data in this period."
    said = [_course(chart, known, times)]
    if chart.reference is not None:
        said.append(f"{chart.reference_name.capitalize()} {chart.words(chart.reference)}.")
    if chart.onset:
        said.append(_onset(chart.onset.at, chart.onset.earliest, chart.onset.latest, times))
    missing = len(chart.points) - len(known)
    if missing and not chart.is_bars:
        said.append(f"No data in {missing} of {len(chart.points)} slots.")
    said += _marks(chart, times)
    return " ".join(said)


def slot_words(slot: timedelta) -> str:
    """Length of a slot: hour, 6 hours, day."""
    hours = round(slot.total_seconds() / 3600)
    number, unit = (hours // 24, "day") if hours % 24 == 0 else (hours, "hour")
    return unit if number == 1 else f"{number} {unit}s"


def _course(chart: TimeChart, known: list[tuple[int, float]], times: Times) -> str:
    def at(place: int) -> str:
        return times.brief_moment(chart.begin_of(place))

    (first, first_value), (last, last_value) = known[0], known[-1]
    if len(known) == 1:
        return f"Only one value: {chart.words(first_value)} at {at(first)}."
    lowest, highest = min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])
    if chart.is_bars and "%" not in chart.unit:
        total = sum(value for _, value in known)
        return f"In all {chart.words(total)}; most {chart.words(highest[1])} at {at(highest[0])}."
    return (
        f"From {chart.words(first_value)} at {at(first)} to {chart.words(last_value)} at {at(last)}; "
        f"lowest {chart.words(lowest[1])} at {at(lowest[0])}, highest {chart.words(highest[1])} at {at(highest[0])}."
    )


def _onset(at: datetime | None, earliest: datetime, latest: datetime, times: Times) -> str:
    if earliest == latest:
        return f"The change began at {times.brief_moment(latest)}."
    likely = f" most likely at {times.brief_moment(at)}," if at else ""
    return f"The change began{likely} between {times.brief_moment(earliest)} and {times.brief_moment(latest)} (95 %)."


def _marks(chart: TimeChart, times: Times) -> list[str]:
    found = []
    for kind in dict.fromkeys(mark.kind for mark in chart.marks):
        found_at = [times.brief_moment(mark.at) for mark in chart.marks if mark.kind is kind]
        more = f" and {len(found_at) - 3} more" if len(found_at) > 3 else ""
        found.append(f"{kind.words.capitalize()}: {'; '.join(found_at[:3])}{more}.")
    return found
