"""What quality is and what it was: Prometheus metrics, regressions, webhooks and pages, all from the lake."""

from monitor.health.health import Health
from monitor.pages.app import create_app
from monitor.service import Monitor
from monitor.settings import MonitorSettings
from monitor.snapshot import Figures, Snapshot

__all__ = ["Figures", "Health", "Monitor", "MonitorSettings", "Snapshot", "create_app"]
