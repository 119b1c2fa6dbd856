"""Pages of incidents: their list, and one with all that is known of it and the forms that answer it."""

from __future__ import annotations

from monitor.pages.incidents.routes import add_incident_pages

__all__ = ["add_incident_pages"]
