"""Silences that hold back alerts of an incident now."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.alerting.controls.silences import Silence, read_silences
from monitor.pages.incidents.finding import Found
from monitor.service.monitor import Monitor


@dataclass(frozen=True)
class HeldBack:
    """A silence that holds, with its id; one of the configuration has none."""

    silence: Silence
    number: int | None

    @property
    def is_of_deployment(self) -> bool:
        """Whether it is of one deployment alone, so that who may act on that may end it."""
        return self.number is not None and self.silence.deployment is not None


def silences_of(monitor: Monitor, found: Found) -> list[HeldBack]:
    """Give the silences of the incident's alerts that hold now, the one that ends last first."""
    configured = [HeldBack(one, None) for one in monitor.settings.silences]
    added = [HeldBack(one, number) for number, one in read_silences(monitor.lake).items()]
    holding = [one for one in (*configured, *added) if monitor.now() < one.silence.until and _holds(one.silence, found)]
    return sorted(holding, key=lambda one: one.silence.until, reverse=True)


def _holds(silence: Silence, found: Found) -> bool:
    return silence.deployment in (None, found.name) and silence.metric in (None, *found.metrics)
