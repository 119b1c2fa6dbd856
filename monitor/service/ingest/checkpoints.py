"""Checkpoints: the monitor's state of a deployment, kept in the lake with the positions that it stands for."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from lake.spec.root_tables import RELEASES
from lake.spec.schemas import PARSED_LOGS
from lake.spec.table_spec import TableSpec
from lake.store.store_errors import TableError
from lake.tables.lake import Lake
from lake.tables.single_row import SingleRow, UnreadableTableError
from monitor.service.ingest.codec import StateError, decode, encode
from monitor.service.ingest.state_classes import FORMAT, state_classes
from monitor.settings import MonitorSettings

_OF_NO_STATE = frozenset({"page_every"})
"""Settings that nothing of the state depends on."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A state, and up to which version of each table its rows are part of it; None where there was no table.

    `has_same_settings` says whether the streams were run with the settings of now.
    """

    state: Any
    positions: Mapping[str, int | None]
    saved_at: datetime
    has_same_settings: bool


class Checkpoints:
    """Reads and writes the checkpoints of a lake: single rows of the tables MONITOR_STATE and ROOT_STATE.

    Not safe for use by several threads at once.
    """

    def __init__(self, lake: Lake, settings: MonitorSettings) -> None:
        self._lake = lake
        self._settings = _digest(settings)
        self._classes = state_classes(settings.regression)
        self._rows: dict[tuple[str, str | None], SingleRow] = {}

    def load(self, spec: TableSpec, deployment: str | None) -> Checkpoint | None:
        """Read a checkpoint; None where there is none.

        Raises StateError for one that is damaged, lacks its file, or is of another version, and what the store raises.
        """
        try:
            row = self._row(spec, deployment).read()
        except pa.ArrowException as error:
            raise StateError(f"the state cannot be read: {error}") from error
        except (TableError, FileNotFoundError) as error:
            self._require_store(spec, deployment)
            raise StateError(f"the state's table cannot be read: {error}") from error
        if row is None:
            return None
        if row["format"] != FORMAT:
            raise StateError(f"the state has the format {row['format']}; this version reads {FORMAT}")
        try:
            positions, texts = json.loads(row["positions"]), json.loads(row["texts"])
        except (TypeError, ValueError) as error:
            raise StateError(f"the positions or texts of the state are no JSON: {error}") from error
        state = decode(row["state"] or b"", texts, self._classes)
        return Checkpoint(state, positions, row["saved_at"], row["settings"] == self._settings)

    def saved_by_other_version(self, spec: TableSpec, deployment: str | None) -> datetime | None:
        """Return when a checkpoint was saved that another version has written; None for one of this version, or none.

        None too where it cannot be read, which `load` says. Raises what the store raises.
        """
        try:
            row = self._row(spec, deployment).read()
        except (pa.ArrowException, TableError, FileNotFoundError):
            self._require_store(spec, deployment)
            return None
        return row["saved_at"] if row is not None and row["format"] != FORMAT else None

    def save(
        self,
        spec: TableSpec,
        deployment: str | None,
        state: object,
        positions: Mapping[str, int | None],
        now: datetime,
    ) -> None:
        """Replace a checkpoint; a table that cannot be opened is removed and made anew: it holds nothing but this row.

        Raises LostRaceError where another one has replaced it since it was read or written here: another monitor, or
        an erasure, which has taken out what the state here still has. Then begin with what is there.
        """
        coded, texts = encode(state, self._classes)
        row = {
            "saved_at": now,
            "format": FORMAT,
            "settings": self._settings,
            "positions": json.dumps(positions),
            "texts": json.dumps(texts),
            "state": coded,
        }
        try:
            self._row(spec, deployment).write(row)
        except UnreadableTableError as error:
            self._require_store(spec, deployment)
            logger.warning("%s It is removed and made anew.", error)
            self._row(spec, deployment).remove()
            del self._rows[spec.name, deployment]
            self._row(spec, deployment).write(row)

    def _require_store(self, spec: TableSpec, deployment: str | None) -> None:
        """Raise what the store raises: where another table fails too, it is not the state that is damaged."""
        self._lake.table(PARSED_LOGS if spec.per_deployment else RELEASES, deployment).version()

    def _row(self, spec: TableSpec, deployment: str | None) -> SingleRow:
        place = spec.name, deployment
        if place not in self._rows:
            self._rows[place] = SingleRow(self._lake.table(spec, deployment))
        return self._rows[place]


def _digest(settings: MonitorSettings) -> str:
    text = settings.regression.model_dump_json(exclude=set(_OF_NO_STATE)) + json.dumps(settings.versions)
    return hashlib.sha256(text.encode()).hexdigest()
