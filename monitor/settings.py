"""What an installation may decide about the monitor."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Gt
from pydantic import BaseModel, ConfigDict

from monitor.notify import WebhookSettings
from monitor.regression import RegressionSettings


class MonitorSettings(BaseModel):
    """How often to look, when to call it a regression, and whom to tell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    refresh_seconds: Annotated[float, Gt(0)] = 5.0
    """Seconds from one look at the lake to the next."""
    external_url: str = ""
    """Where people find the pages, for the links in webhooks; empty: no links."""
    regression: RegressionSettings = RegressionSettings()
    webhooks: tuple[WebhookSettings, ...] = ()
