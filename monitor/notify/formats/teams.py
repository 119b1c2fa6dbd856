"""Microsoft Teams' format: the body of a message with an adaptive card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.formats.chat_text import mark, text_of, title
from monitor.notify.texts.incident import IncidentNote, main_link, note_lines
from monitor.notify.texts.plain import cut

_LINE = 1000
_BYTES = 20_000


def teams_body(
    changes: Sequence[AlertChange], _receiver: str, external_url: str, incident: IncidentNote | None = None
) -> bytes:
    """Return the JSON of a message with one adaptive card, and a link to our page."""
    return msgspec.json.encode(_message(changes, external_url, incident))


def _message(changes: Sequence[AlertChange], external_url: str, incident: IncidentNote | None) -> dict[str, Any]:
    """A message with an adaptive card, as the workflow "when a Teams webhook request is received" takes it."""
    colour = mark(changes, "attention", "good", "default")
    about = note_lines(incident) if incident else ()
    lines = [*about, *(line for change in changes for line in text_of(change, changes, external_url).splitlines())]
    return _card(colour, title(changes), lines, main_link(incident, changes[0].key.deployment, external_url))


def teams_text_body(title: str, lines: Sequence[str], link: str, colour: str = "attention") -> bytes:
    """Return the JSON of a message: a headline with a colour, lines, and a link, empty for none."""
    return msgspec.json.encode(_card(colour, title, lines, link))


def _card(colour: str, title: str, lines: Sequence[str], link: str) -> dict[str, Any]:
    headline = _block(cut(title, _LINE), size="large", weight="bolder", color=colour)
    blocks = [_block(cut(line, _LINE)) for line in lines]
    sizes = accumulate(len(msgspec.json.encode(block)) for block in blocks)
    body = [headline, *(block for block, size in zip(blocks, sizes, strict=True) if size <= _BYTES)]
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if link:
        content["actions"] = [{"type": "Action.OpenUrl", "title": "Open dialwatch", "url": link}]
    card = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [card]}


def _block(text: str, **style: str) -> dict[str, Any]:
    # Teams reads Markdown: a name such as a_b_c must not become italic, and "1. x" or "- x" no list.
    words = re.sub(r"([\\`*_~\[\]#<>&{}|!])", r"\\\1", text)
    words = re.sub(r"^(\s*)([-+])", r"\1\\\2", words)
    words = re.sub(r"^(\s*\d+)([.)])", r"\1\\\2", words)
    return {"type": "TextBlock", "text": words, "wrap": True, **style}
