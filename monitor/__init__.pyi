from .pages.app import create_app, create_metrics_app
from .service.health.health import Health
from .service.monitor import Monitor
from .service.snapshot import DeploymentState, Snapshot
from .settings import MonitorSettings

__all__ = [
    "DeploymentState",
    "Health",
    "Monitor",
    "MonitorSettings",
    "Snapshot",
    "create_app",
    "create_metrics_app",
]
