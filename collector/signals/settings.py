"""Settings of the signals that are read from the traffic."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from collector.signals.lexicon import Lexicon


class SignalSettings(BaseModel):
    """Settings of implicit signals, and limits on signals of other senders.

    A pass is made every `every` seconds. A request is compared with those of the same chat that came at most
    `window_days` before it. `lexicon` names a YAML or JSON file of own phrases: `language: {phrase: confidence}`.

    Of deployments that the lake does not have at most `new_deployments_per_hour` are taken up for signals of
    `POST /signals`, and of their words at most `words` besides our own; others are stored as `other`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    implicit: bool = True
    every: float = Field(default=60.0, gt=0)
    window_days: float = Field(default=2.0, gt=0)
    lexicon: Path | None = None
    new_deployments_per_hour: int = Field(default=100, ge=0)
    words: int = Field(default=100, ge=0)

    @field_validator("lexicon")
    @classmethod
    def _can_be_read(cls, path: Path | None) -> Path | None:
        Lexicon.with_file(path)
        return path
