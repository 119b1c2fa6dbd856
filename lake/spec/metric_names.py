"""Names of metrics and limits in plain words, with what a value says and what to look at when it gets worse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.vocabulary import DISLIKES, Signal

_CUT = re.compile(r"(.+)@(\d+(?:\.\d+)?)")
_LIMIT = "over N"


@dataclass(frozen=True)
class MetricName:
    """What people read of a metric or a limit in place of its identifier.

    `name` is a few words, such as "facts found"; in a sentence it stands in quotation marks (`quoted_name`). `says` is
    what a value says, `fall` what it means when it gets worse, `look` what to look at first, which is what every
    incident of it says first; these three are empty for a metric that the installation brings itself.
    """

    name: str
    says: str = ""
    fall: str = ""
    look: str = ""


_OTHER_NAMES = frozenset({*Signal, *LimitKind, DISLIKES})


def is_own_name(name: str) -> bool:
    """Whether dialwatch uses a name for a metric, a limit or a signal: what other programs send may not have it."""
    cut = _CUT.fullmatch(name)
    return name in _OTHER_NAMES or (cut[1] if cut else name) in metric_names() or name.startswith("aspect_")


def metric_look(metric: str) -> str:
    """Return what to look at first where a metric or a limit gets worse; empty where nobody has said."""
    names, cut = metric_names(), _CUT.fullmatch(metric)
    known = names.get(metric) or (names.get(cut[1]) if cut else None)
    return known.look if known else ""


@cache
def metric_names() -> Mapping[str, MetricName]:
    """Return the names by identifier."""
    content = yaml.safe_load(files(__package__).joinpath("metric_names.yaml").read_text("utf-8"))
    return {metric: MetricName(**words) for metric, words in content.items()}


def metric_name(metric: str) -> str:
    """Return the name of a metric or a limit; its identifier where it has none.

    One that looks at the first ranks (`hit_rate@5`), or has a limit (`latency_over@10`), says so.
    """
    known = metric_names().get(metric)
    if known is not None:
        return known.name
    cut = _CUT.fullmatch(metric)
    if cut and cut[1] in metric_names():
        name = metric_names()[cut[1]].name
        return name.replace(_LIMIT, f"over {cut[2]}") if _LIMIT in name else f"{name} among the first {cut[2]}"
    return metric


def quoted_name(metric: str) -> str:
    """Return the name of a metric or a limit in quotation marks, as it stands in a sentence: “facts found”."""
    return f"“{metric_name(metric)}”"
