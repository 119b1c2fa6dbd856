"""Limits of means that fit no metric: a name that has no scores, or a value outside of the metric's range."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from monitor.detect.limits.settings import LimitSettings
from monitor.detect.regression import Scale

Scales = Mapping[str, Mapping[str, Scale | None]]
"""By deployment and metric with scores; None of a metric that has no worst and best value."""
_SETTING = "monitor.limits.at_least"
_UNCHECKED = "nothing is checked against it"


def unfit_limits(settings: LimitSettings, scales: Scales) -> tuple[str, ...]:
    """Return in words the limits of means that are compared with nothing; none where nothing has scores yet."""
    scored = {name: metrics for name, metrics in scales.items() if metrics}
    if not scored:
        return ()
    own = {name: limits.at_least for name, limits in settings.deployments.items()}
    found = list(_unfit(_SETTING, settings.at_least, _without_own(scored, own)))
    for name, limits in own.items():
        setting = f"monitor.limits.deployments: {name}: at_least"
        if name in scored:
            found += _unfit(setting, limits, {name: scored[name]})
        elif any(limit is not None for limit in limits.values()):
            found.append(f"{setting}: the deployment has no scores{_similar(name, scored)}; {_UNCHECKED}")
    return tuple(found)


def _without_own(scored: Scales, own: Mapping[str, Mapping[str, float | None]]) -> Scales:
    """Leave out the metrics of deployments that have a limit of their own."""
    return {
        name: {metric: scale for metric, scale in metrics.items() if metric not in own.get(name, {})}
        for name, metrics in scored.items()
    }


def _unfit(setting: str, limits: Mapping[str, float | None], scored: Scales) -> Iterator[str]:
    every = {metric for metrics in scored.values() for metric in metrics}
    for metric, limit in limits.items():
        if limit is None:
            continue
        mine = [metrics[metric] for metrics in scored.values() if metric in metrics]
        if not mine:
            yield f"{setting}: {metric} has no scores{_similar(metric, every)}; {_UNCHECKED}"
        elif not any(scale is not None and 0.0 < scale.quality(limit) < 1.0 for scale in mine):
            yield f"{setting}: {_why(metric, limit, mine[0])}; {_UNCHECKED}"


def _why(metric: str, limit: float, scale: Scale | None) -> str:
    if scale is None:
        return f"{metric} has no worst and best value"
    low, high = sorted((scale.worst, scale.best))
    return f"{limit:g} of {metric} is not between {low:g} and {high:g}"


def _similar(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
