"""Large charts over time: their axes, gaps and bands, what they say in words, and the table behind them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from monitor.pages.charts import (
    ChartOnset,
    Distribution,
    HistogramChart,
    Mark,
    MarkKind,
    Point,
    TimeChart,
    draw,
    draw_histogram,
)
from monitor.pages.charts.ticks import time_ticks, value_ticks
from monitor.pages.rendering import templates

BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def chart(*values: float | None, **more: object) -> TimeChart:
    points = [Point(value, number=10) for value in values]
    return TimeChart("c", "groundedness", BEGIN, DAY, points, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def environment() -> Environment:
    return templates()


def html(environment: Environment, **values: object) -> str:
    macro = "time_chart" if "chart" in values else "histogram"
    name = "chart" if "chart" in values else "shown"
    source = f'{{% from "plots.html" import {macro} %}}{{{{ {macro}({name}) }}}}'
    return environment.from_string(source).render(**values)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_value_ticks_enclose_the_values(low: float, span: float, whole: bool) -> None:
    """There are few ticks at 1, 2 or 5 times a power of ten, the values lie between the ends, and labels differ."""
    ticks = value_ticks(low, low + span, whole=whole)
    tolerance = 1e-5 * ticks.step
    assert ticks.low <= low + tolerance
    assert ticks.high >= low + span - tolerance
    assert 2 <= len(ticks.values) <= 6
    assert f"{ticks.step:e}"[0] in "125"
    assert len({ticks.label(value) for value in ticks.values}) == len(ticks.values)
    if whole:
        assert ticks.step >= 1


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (timedelta(hours=6), "06:00 07:00 08:00 09:00 10:00 11:00 12:00"),
        (timedelta(days=1), "06:00 09:00 12:00 15:00 18:00 21:00 2 Oct 03:00 06:00"),
        (timedelta(days=30), "2 Oct 6 Oct 10 Oct 14 Oct 18 Oct 22 Oct 26 Oct 30 Oct"),
        (timedelta(days=90), "12 Oct 26 Oct 9 Nov 23 Nov 7 Dec 21 Dec"),
    ],
)
def test_times_are_round(length: timedelta, labels: str) -> None:
    """Hours are whole, days are named at midnight UTC, and steps of weeks are Mondays."""
    begin = BEGIN + timedelta(hours=6)
    assert " ".join(text for _, text in time_ticks(begin, begin + length)) == labels


@pytest.mark.parametrize(
    ("zone", "begin", "hours", "labels"),
    [
        ("Europe/Berlin", "2026-10-24T18:00Z", 24, "21:00 25 Oct 03:00 06:00 09:00 12:00 15:00 18:00"),
        ("Europe/Berlin", "2026-03-28T23:00Z", 6, "29 Mar 01:00 03:00 04:00 05:00 06:00 07:00"),
        ("Europe/Berlin", "2026-10-20T10:00Z", 168, "21 Oct 22 Oct 23 Oct 24 Oct 25 Oct 26 Oct 27 Oct"),
        ("Asia/Kathmandu", "2026-11-20T12:00Z", 6, "18:00 19:00 20:00 21:00 22:00 23:00"),
        ("Asia/Kathmandu", "2026-11-20T12:00Z", 72, "21 Nov 12:00 22 Nov 12:00 23 Nov 12:00"),
        # Its clocks go from midnight to one.
        ("America/Santiago", "2026-09-06T02:00Z", 4, "22:00 23:00 6 Sep 02:00 03:00"),
        # It had no 30 December.
        ("Pacific/Apia", "2011-12-29T00:00Z", 200, "29 Dec 31 Dec 1 Jan 2 Jan 3 Jan 4 Jan 5 Jan 6 Jan"),
    ],
)
def test_ticks_are_round_in_the_zone(zone: str, begin: str, hours: int, labels: str) -> None:
    """Days are named where they begin there, also on a day on which clocks are changed."""
    since, clock = datetime.fromisoformat(begin), ZoneInfo(zone)
    ticks = time_ticks(since, since + timedelta(hours=hours), clock)
    assert " ".join(text for _, text in ticks) == labels
    for at, text in ticks:
        assert text in (f"{at.astimezone(clock):%H:%M}", f"{at.astimezone(clock):%-d %b}")


@given(
    st.integers(0, 24 * 365 * 40),
    st.integers(1, 24 * 200),
    st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Santiago", "Australia/Lord_Howe"]),
)
def test_ticks_ascend_and_are_few(since: int, hours: int, zone: str) -> None:
    """In any zone and period they are inside it, each later than the one before."""
    begin = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=since)
    end = begin + timedelta(hours=hours)
    places = [at for at, _ in time_ticks(begin, end, ZoneInfo(zone))]
    assert places == sorted(set(places))
    assert len(places) <= 10
    assert all(begin <= at <= end for at in places)


def test_the_axis_is_zoomed() -> None:
    """It shows values and reference and no more, but at least the least span, and stays inside the bounds."""
    assert [label.text for label in draw(chart(0.71, 0.74, reference=0.8)).values] == [
        "0.70",
        "0.72",
        "0.74",
        "0.76",
        "0.78",
        "0.80",
    ]
    narrow = draw(chart(0.985, 0.986, least_span=0.1, bounds=(0.0, 1.0))).values
    assert (narrow[0].text, narrow[-1].text) == ("0.92", "1.00")


def test_an_axis_of_shares_begins_at_zero() -> None:
    """Where 0 is to be seen it is on the axis, and the page does not say that the axis begins elsewhere."""
    drawn = draw(chart(8.0, 12.0, begins_at_zero=True, bounds=(0.0, 100.0)))
    assert (drawn.values[0].text, drawn.is_zoomed) == ("0", False)
    assert draw(chart(8.0, 12.0)).is_zoomed


def test_a_wide_interval_does_not_flatten_the_line() -> None:
    """The interval of a slot with few scores is cut off at the axis; the table has it whole."""
    points = [Point(0.8, 0.79, 0.81), Point(0.7, 0.0, 1.0), Point(0.8, 0.79, 0.81)]
    drawn = draw(TimeChart("c", "m", BEGIN, DAY, points, band="95 % interval"))
    assert float(drawn.values[0].text) >= 0.6
    assert float(drawn.values[-1].text) <= 0.9


def test_the_line_has_gaps() -> None:
    """Where a slot has no value the line is broken, and no interval is drawn across."""
    drawn = draw(chart(0.5, 0.6, None, 0.7, 0.8))
    assert drawn.line.count("M") == 2
    assert drawn.dots.count("h0") == 4
    points = [Point(0.5, 0.4, 0.6), Point(0.5, 0.4, 0.6), Point(0.5), Point(0.5, 0.4, 0.6)]
    assert draw(TimeChart("c", "m", BEGIN, DAY, points)).band.count("z") == 2


def test_bars_begin_at_zero() -> None:
    """The axis of counts begins at 0 and has whole numbers; a slot without any has no bar."""
    drawn = draw(chart(3, 0, 2, is_bars=True, is_whole=True))
    assert [label.text for label in drawn.values] == ["0", "1", "2", "3"]
    assert drawn.bars.count("z") == 2
    assert not drawn.line


def test_the_words_say_what_is_seen() -> None:
    """First and last, lowest and highest, the reference, the start of the drop, what is missing, and what happened."""
    drawn = draw(
        chart(
            0.82,
            None,
            0.9,
            0.61,
            0.7,
            reference=0.83,
            onset=ChartOnset(BEGIN + 3 * DAY, BEGIN + 2 * DAY, BEGIN + 4 * DAY),
            marks=[Mark(MarkKind.PAGE, BEGIN + 4 * DAY)],
        )
    )
    assert drawn.title() == "groundedness: mean by day, 1 Oct, 00:00 UTC to 6 Oct, 00:00 UTC"
    assert drawn.finding() == (
        "From 0.82 at 1 Oct, 00:00 UTC to 0.70 at 5 Oct, 00:00 UTC; lowest 0.61 at 4 Oct, 00:00 UTC, "
        "highest 0.90 at 3 Oct, 00:00 UTC. "
        "Reference 0.83. The change began most likely at 4 Oct, 00:00 UTC, "
        "between 3 Oct, 00:00 UTC and 5 Oct, 00:00 UTC (95 %). "
        "No data in 1 of 5 slots. Urgent alert: 5 Oct, 00:00 UTC."
    )


def test_marks_of_the_period_are_shown() -> None:
    """Each kind has its row; what was before the period is left out, but not a silence that went on."""
    marks = [
        Mark(MarkKind.RELEASE, BEGIN - DAY),
        Mark(MarkKind.SILENCE, BEGIN - DAY, BEGIN + DAY),
        Mark(MarkKind.PAGE, BEGIN + 2 * DAY),
        Mark(MarkKind.PAGE, BEGIN + 2 * DAY + timedelta(minutes=5)),
    ]
    page, silence = draw(chart(0.5, 0.5, 0.5, 0.5, marks=marks)).lanes
    assert (page.kind, page.places, len(page.marks)) == (MarkKind.PAGE, (50.0,), 2)
    assert (silence.kind, silence.places, silence.spans.count("z")) == (MarkKind.SILENCE, (0.0,), 1)


@pytest.mark.parametrize("values", [(), (None, None), (0.5,), (0.5, 0.5), (float(10**9), 0.1)])
def test_any_data_can_be_drawn(environment: Environment, values: tuple[float | None, ...]) -> None:
    """No slot, no value, one value, values that are all the same: the page is well formed, and says what is missing."""
    found = html(environment, chart=draw(chart(*values)))
    ElementTree.fromstring(found.replace("&nbsp;", " "))
    assert ("No data in this period" in found) is not any(value is not None for value in values)


def test_the_chart_as_a_page_has_it(environment: Environment) -> None:
    """It is an image with a name and a description, without inline style, and the table has each slot with a value."""
    marks = [Mark(MarkKind.RELEASE, BEGIN + DAY, text="<script>1</script>", address="/incident?id=1")]
    found = html(environment, chart=draw(chart(0.5, None, 0.7, marks=marks, counted="answers", reference=0.6)))
    assert 'role="img" aria-labelledby="c-title c-finding"' in found
    assert '<title id="c-title">groundedness: mean by day' in found
    assert '<desc id="c-finding">From 0.50' in found
    assert " style=" not in found
    assert "<script" not in found
    assert "Accepted level" in found
    assert '<a href="/incident?id=1">accepted level</a>' in found
    assert re.findall(r'<td class="number">([\d.]+)</td><td class="number">10</td>', found) == ["0.50", "0.70"]


def test_two_distributions(environment: Environment) -> None:
    """Both are drawn in per cent on one axis, and the words name how many there are and where most of them lie."""
    before, after = Distribution("before", [0, 10, 30], 0.8), Distribution("since the drop", [3, 1, 0])
    drawn = draw_histogram(HistogramChart("h", "groundedness", 0.0, 1.5, before, after))
    assert drawn.finding == (
        "Before: 40 scores, 75 % of them from 1 to 1.5. Since the drop: 4 scores, 75 % of them from 0 to 0.5."
    )
    assert drawn.shares[-1].text == "80 %"
    assert (drawn.before.count("z"), drawn.after.count("z")) == (2, 2)
    found = html(environment, shown=drawn)
    ElementTree.fromstring(found.replace("&nbsp;", " "))
    assert '<td class="number">30 (75&nbsp;%)</td><td class="number">0 (0&nbsp;%)</td>' in found


def test_an_empty_distribution(environment: Environment) -> None:
    """Without any score nothing is divided by zero."""
    drawn = draw_histogram(
        HistogramChart("h", "m", 0, 1, Distribution("before", [0, 0]), Distribution("since", [0, 0]))
    )
    assert drawn.finding == "Before: no score. Since: no score."
    assert html(environment, shown=drawn)


def test_shares_are_not_summed() -> None:
    """Bars of percentages say their course, not a sum."""
    said = draw(chart(40, 0, 20, is_bars=True, unit=" %")).finding()
    assert "In all" not in said
    assert "highest 40" in said
