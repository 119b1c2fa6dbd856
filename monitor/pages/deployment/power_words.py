"""Words for the power of a detector: how long a drop by a 20th of a metric's range would take to be seen."""

from __future__ import annotations

from monitor.detect.regression import Reading, Scale, Status
from monitor.pages.filters import duration, score, whole


def power_words(reading: Reading | None, scale: Scale | None) -> str:
    """Say after how many conversations, and how long, such a drop is seen, or why that is not known."""
    if reading is None or scale is None:
        return "Not watched: no drop of it is seen."
    drop = f"{'rise' if scale.is_reversed else 'drop'} of {abs(scale.best - scale.worst) / 20:.3g}"
    if reading.status is Status.LEARNING:
        return f"Until the reference is learned, no {drop} is seen."
    if reading.status is Status.REGRESSED:
        return f"How soon a {drop} is seen is known again once the regression is over."
    if not reading.can_fire:
        return f"Too bad to get worse: no {drop} is seen."
    if reading.small_conversations is None or reading.small_delay is None:
        return f"A {drop} is too small to be told from chance: it would not be seen. {_larger(reading, scale)}"
    number = _rounded(reading.small_conversations)
    return (
        f"A {drop} is seen after about {whole(number)} conversation{'s' if number != 1 else ''}: "
        f"at the present traffic about {duration(reading.small_delay)}."
    )


def _larger(reading: Reading, scale: Scale) -> str:
    word = "rise" if scale.is_reversed else "drop"
    if reading.smallest_drop is not None:
        return f"The smallest {word} that would be seen within a week is about {reading.smallest_drop:.2g}."
    if reading.delay is not None:
        tenth = score(abs(scale.best - scale.worst) / 10)
        return f"No {word} would be seen within a week; one of {tenth} takes about {duration(reading.delay)}."
    return f"At the present traffic no {word} would be seen within a week."


def _rounded(number: float) -> int:
    """Two digits: it is a rule of thumb."""
    return max(1, int(float(f"{number:.2g}")))
