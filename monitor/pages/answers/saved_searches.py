"""Searches of answers that people save by a name, for all who see the deployment: the table `_saved_searches`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import SavedSearchEvent
from lake.spec.root_tables import SAVED_SEARCHES
from lake.tables.lake import Lake
from monitor.alerting.controls.numbered_rows import append_numbered
from monitor.pages.answers.addresses import Visible
from monitor.pages.answers.query import AnswerQuery, BadQueryError

MOST_SEARCHES = 50
"""Of a deployment."""
MOST_CHARACTERS = 100
"""Of a name."""
_APP_ID = "saved_searches"
_COLUMNS = ("search_id", "change", "deployment", "name", "days", "search")
_OWN = ("since", "until", "start_time", "page")
"""Fields that a saved search has not: its period ends today, and it begins with the first page."""


@dataclass(frozen=True)
class SavedSearch:
    """A search with its name; `address` leads to it, with the days up to today."""

    deployment: str
    name: str
    days: int
    address: str


def read_saved_searches(lake: Lake, seen: Visible, deployment: str = "") -> list[SavedSearch]:
    """Return those that the reader may look at, by deployment and name; of one deployment where it is named."""
    newest: dict[tuple[str, str], Mapping[str, object]] = {}
    rows = lake.table(SAVED_SEARCHES).read(_COLUMNS).to_pylist()
    for row in sorted((row for row in rows if row["search_id"] is not None), key=lambda row: row["search_id"]):
        if row["name"] is not None and deployment in ("", row["deployment"]):
            newest[row["deployment"], row["name"]] = row
    found = (_saved_search(row, seen) for _, row in sorted(newest.items()))
    return [one for one in found if one is not None]


def save_search(lake: Lake, query: AnswerQuery, name: str, who: str | None, now: datetime) -> int:
    """Save it in the place of what has its name, and return its number."""
    fields = {name: value for name, value in query.fields().items() if name not in _OWN}
    search = json.dumps(fields, ensure_ascii=False)
    days = (query.until - query.since).days + 1
    said = {"deployment": query.deployment, "name": name, "who": who, "days": days, "search": search}
    change = {"change": SavedSearchEvent.SAVED.value, "changed_at": now}
    return append_numbered(lake, SAVED_SEARCHES, _APP_ID, lambda number: {"search_id": number} | change | said)


def remove_search(lake: Lake, deployment: str, name: str, who: str | None, now: datetime) -> int:
    """Remove what has the name, and return the number of that."""
    said = {"deployment": deployment, "name": name, "who": who}
    change = {"change": SavedSearchEvent.REMOVED.value, "changed_at": now}
    return append_numbered(lake, SAVED_SEARCHES, _APP_ID, lambda number: {"search_id": number} | change | said)


def _saved_search(row: Mapping[str, object], seen: Visible) -> SavedSearch | None:
    """Return a search with its address; None where it was removed or erased, or the reader may not search so."""
    if row["change"] != SavedSearchEvent.SAVED or row["search"] is None:
        return None
    today, days = seen.now.date(), int(str(row["days"]))
    try:
        fields = {name: str(value) for name, value in json.loads(str(row["search"])).items()}
        query = seen.query(fields | {"since": str(today - timedelta(days=days - 1)), "until": str(today)})
    except (BadQueryError, ValueError, OverflowError, AttributeError):
        return None
    return SavedSearch(query.deployment, str(row["name"]), days, query.address())
