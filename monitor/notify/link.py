"""Links from messages to our pages."""

from __future__ import annotations

from urllib.parse import urlencode


def link_to(deployment: str, external_url: str) -> str:
    """Give the address of a deployment's page; empty where nobody said where our pages are.

    The name is a query: it may hold slashes and dots, which servers between us and the person change in a path.
    """
    return f"{external_url.rstrip('/')}{page_of(deployment)}" if external_url else ""


def page_of(deployment: str) -> str:
    """Give the path of a deployment's page, with its query."""
    return f"/deployment?{urlencode({'name': deployment}, safe='/')}"
