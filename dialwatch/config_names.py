"""Earlier names of settings, and settings that are constants: both are still read, with a warning."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

RENAMED: Mapping[tuple[str, ...], tuple[str, ...]] = {("monitor", "floors"): ("monitor", "limits")}
"""By earlier place, the place of a section or key; both are in the same section."""
RETIRED: Mapping[tuple[str, ...], str] = {
    ("collector", "http", "answer_seconds"): "a request waits for the lake for 60 s, and then gets 503",
    ("collector", "http", "receive_seconds"): "a body that takes longer than 300 s to arrive gets 408",
    ("collector", "signals", "window_days"): "a request is compared with those of its chat in the two days before",
}
"""By place, what holds in place of what a setting said."""
_log = logging.getLogger(__name__)


def with_current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested values of settings by the names of today, without those that nothing reads; each is logged.

    Where a key stands under both names, what it says under the name of today counts.
    """
    return _current(values, ())


def current_place(place: tuple[str, ...]) -> tuple[str, ...]:
    """Return where the value of a place is read today."""
    for earlier, today in RENAMED.items():
        if place[: len(earlier)] == earlier:
            return (*today, *place[len(earlier) :])
    return place


def variables_with_current_names(variables: Mapping[str, str | None], prefix: str) -> dict[str, str | None]:
    """Return the variables of the environment, in lower case, by the names of today; each change is logged."""
    found: dict[str, str | None] = {}
    for name, value in sorted(variables.items(), key=lambda one: one[0]):
        place = tuple(name.removeprefix(prefix).split("__")) if name.startswith(prefix) else ()
        today = current_place(place)
        if place in RETIRED:
            _warn(name.upper(), f"has no effect: {RETIRED[place]}")
        elif today != place:
            current = prefix + "__".join(today)
            _warn(name.upper(), f"is an earlier name of {current.upper()}: rename it")
            found[current] = variables.get(current, value)
        else:
            found[name] = value
    return found


def _current(values: Mapping[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        here = (*place, key)
        today = RENAMED.get(here)
        if here in RETIRED:
            _warn(".".join(here), f"has no effect: {RETIRED[here]}; remove it")
        elif today is not None:
            _warn(".".join(here), f"is an earlier name of {'.'.join(today)}: rename it")
            found[today[-1]] = _merged(value, values[today[-1]]) if today[-1] in values else value
        elif key not in found:
            found[key] = _current(value, here) if isinstance(value, Mapping) else value
    return found


def _merged(earlier: Any, today: Any) -> Any:
    """Return the values of two mappings; of a key that both have, that of the second."""
    if not isinstance(earlier, Mapping) or not isinstance(today, Mapping):
        return today
    both = earlier.keys() & today.keys()
    return {**earlier, **today, **{key: _merged(earlier[key], today[key]) for key in both}}


def _warn(name: str, what: str) -> None:
    _log.warning("the setting %s %s", name, what)
