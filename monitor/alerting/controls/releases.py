"""Marks of releases that people set while the monitor runs: the table `_releases`."""

from __future__ import annotations

from datetime import datetime

from lake.spec.alert_vocabulary import ReleaseEvent
from lake.spec.root_tables import RELEASES
from lake.tables.lake import Lake
from monitor.alerting.controls.numbered_rows import append_numbered
from monitor.detect.regression import RELEASE_COLUMNS, Release, Releases

_APP_ID = "releases"


def read_releases(lake: Lake) -> Releases:
    """Return every mark that the table has."""
    return Releases().with_rows(lake.table(RELEASES).read(RELEASE_COLUMNS))


def mark_release(lake: Lake, release: Release, now: datetime) -> int:
    """Write a mark and return its id; at their next look monitors have its streams learn anew from it on."""
    return append_numbered(
        lake, RELEASES, _APP_ID, lambda number: _row(number, ReleaseEvent.ADDED, release, now, release.comment)
    )


def withdraw_release(lake: Lake, release_id: int, now: datetime) -> None:
    """Write that a mark is taken back; raises KeyError where there is none, or it was taken back before."""
    release = read_releases(lake).valid[release_id]
    lake.table(RELEASES).append(RELEASES.rows([_row(release_id, ReleaseEvent.WITHDRAWN, release, now, None)]))


def _row(number: int, change: str, release: Release, now: datetime, comment: str | None) -> dict[str, object]:
    return {
        "release_id": number,
        "change": change,
        "changed_at": now,
        "deployment": release.deployment,
        "metric": release.metric,
        "released_at": release.at,
        "comment": comment,
    }
