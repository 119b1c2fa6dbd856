from .health.health import Health
from .pages.app import create_app, create_metrics_app
from .service import Monitor
from .settings import MonitorSettings
from .snapshot import DeploymentState, Snapshot

__all__ = [
    "DeploymentState",
    "Health",
    "Monitor",
    "MonitorSettings",
    "Snapshot",
    "create_app",
    "create_metrics_app",
]
