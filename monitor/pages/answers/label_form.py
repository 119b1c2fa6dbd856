"""Form by which a reader says whether an answer is right."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import datetime

from starlette.exceptions import HTTPException

from lake.queries.answer_details import read_answer_row
from lake.spec.vocabulary import Signal
from lake.tables.lake import Lake
from monitor.alerting.controls.labels import MOST_CHARACTERS, Label, write_label
from monitor.pages.answers.addresses import AnswerPlace, deployment_of, no_answer

_UNPROCESSABLE = 422
_ID = re.compile(r"[0-9a-f]{32}")


def new_label_id() -> str:
    """Give the id of a form that is about to be shown: however often it is sent, it is one label."""
    return uuid.uuid4().hex


def label_of(fields: Mapping[str, str], who: str | None) -> Label:
    """Read the fields of the form; raises HTTPException."""
    said, given_id = fields.get("label"), fields.get("label_id", "")
    if said not in (Signal.RIGHT, Signal.WRONG):
        raise HTTPException(_UNPROCESSABLE, f"A label is {Signal.RIGHT} or {Signal.WRONG}: choose one")
    if not _ID.fullmatch(given_id):
        raise HTTPException(_UNPROCESSABLE, "A label has a label_id: 32 hex digits, new for each label")
    comment = fields.get("comment", "").strip()
    if len(comment) > MOST_CHARACTERS:
        raise HTTPException(_UNPROCESSABLE, f"A comment has at most {MOST_CHARACTERS:,} characters")
    return Label(said == Signal.RIGHT, comment, who, given_id)


def label_answer(lake: Lake, place: AnswerPlace, label: Label, now: datetime) -> bool:
    """Write the label, once; False where the form was sent before. Raises HTTPException where there is no answer."""
    row = read_answer_row(lake, deployment_of(place.name), place.date, place.event_id)
    if row is None:
        raise no_answer()
    return write_label(lake, row, label, now)
