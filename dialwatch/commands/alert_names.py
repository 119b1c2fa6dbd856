"""Names of deployments and metrics, as alerts use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from dialwatch.config import Settings
from evaluator.metrics import REGISTRY, UnknownMetricError
from lake.spec.alert_vocabulary import LimitKind
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake


def unknown_names(deployment: str | None, metric: str | None, settings: Settings, lake: Lake) -> Iterator[str]:
    """Yield a note for each name that is not known and may be a typing error; it is accepted all the same."""
    deployments = [name for name in lake.deployments() if name is not None]
    if deployment and deployment not in deployments:
        yield f"the lake has no deployment {deployment!r} yet{_similar(deployment, deployments)}"
    if metric and _name_in_alerts(metric, settings) is None:
        names = [*map(str, LimitKind), DISLIKES, *REGISTRY]
        yield f"no metric or limit of the name {metric!r} is known here{_similar(metric, names)}"


def name_in_alerts(metric: str | None, settings: Settings) -> str | None:
    """Return the name that alerts use for a metric, which may have others, and one that is not known as it is."""
    return metric and (_name_in_alerts(metric, settings) or metric)


def _name_in_alerts(metric: str, settings: Settings) -> str | None:
    if metric in (*LimitKind, DISLIKES):
        return metric
    try:
        return settings.evaluator.metric(metric).name
    except UnknownMetricError:
        return None


def _similar(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
