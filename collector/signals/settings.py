"""Settings of the signals that are read from the traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from collector.signals.lexicon import Lexicon
from runtime.setting import Section, Setting


class SignalSettings(Section):
    """Signals that are found in the traffic, and limits on signals of other senders."""

    implicit: bool = True
    """Whether signals are found in the traffic, see [signals.md](signals.md)."""
    every: float = Field(default=60.0, gt=0)
    """Seconds between two passes that find signals in the traffic."""
    lexicon: Annotated[Path | None, Setting(default="the shipped one")] = None
    """YAML or JSON file with phrases of yours that reject an answer: `language: {phrase: confidence}`."""
    new_deployments_per_hour: int = Field(default=100, ge=0)
    """Number of deployments an hour that the lake does not have yet and that `POST /signals` and `POST /scores` may
    name. What names more goes to `_rejected`."""
    words: int = Field(default=100, ge=0)
    """Number of words of `signal`, besides ours, that `POST /signals` may use, together with names of `POST /scores`.
    Signals with more words are stored as `other`, with the word in their `details`; scores with more names go to
    `_rejected`."""

    @field_validator("lexicon")
    @classmethod
    def _can_be_read(cls, path: Path | None) -> Path | None:
        Lexicon.with_file(path)
        return path
