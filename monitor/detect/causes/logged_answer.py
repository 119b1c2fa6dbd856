"""An answer as change attribution sees it: when, of which conversation, and the values of its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from monitor.detect.causes.features import Feature

FeatureKey: TypeAlias = tuple[Feature, str]
"""A feature and what it is of: the name of a parameter, the deployment whose system prompt it is; mostly empty."""
Value: TypeAlias = float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerFeatures:
    """An answer; a feature that the log does not say is absent. Texts are only there as hashes and lengths."""

    at: datetime
    conversation: str
    event_id: str
    values: Mapping[FeatureKey, Value]
