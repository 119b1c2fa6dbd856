"""The page of a deployment over a period: its metrics, failures, judges, limits and alerts; also as JSON."""

from monitor.pages.deployment.routes import add_deployment_page

__all__ = ["add_deployment_page"]
