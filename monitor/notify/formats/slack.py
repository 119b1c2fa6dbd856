"""Slack's format: the body of a message to an incoming webhook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.formats.chat_text import mark, text_of, title
from monitor.notify.texts.incident import IncidentNote, main_link, note_lines
from monitor.notify.texts.plain import cut

_HEADER = 150
_TEXT = 3000
_BLOCKS = 50


def slack_body(
    changes: Sequence[AlertChange], _receiver: str, external_url: str, incident: IncidentNote | None = None
) -> bytes:
    """Return the JSON of a message with a header, a block of text for each change, and a link to our page."""
    return msgspec.json.encode(_message(changes, external_url, incident))


def _message(changes: Sequence[AlertChange], external_url: str, incident: IncidentNote | None) -> dict[str, Any]:
    prefix = mark(changes, ":red_circle: ", ":large_green_circle: ", ":white_circle: ")
    notes = note_lines(incident) if incident else ()
    most = _BLOCKS - 2 - max(len(notes), 1)
    texts = [text_of(change, changes, external_url) for change in changes[:most]] + list(notes)
    return _blocks(prefix, title(changes), texts, main_link(incident, changes[0].key.deployment, external_url))


def slack_text_body(title: str, texts: Sequence[str], link: str, prefix: str = ":red_circle: ") -> bytes:
    """Return the JSON of a message: a header with a prefix, a block for each text, and a link, empty for none."""
    return msgspec.json.encode(_blocks(prefix, title, texts[: _BLOCKS - 2], link))


def _blocks(prefix: str, title: str, texts: Sequence[str], link: str) -> dict[str, Any]:
    """Blocks of an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).

    Slack's own markup has no escape for `*_~` and backticks. So all words are `plain_text`, in which nothing is markup,
    a link or a mention; just the link to our page is markup, and `verbatim`, so that nothing else becomes one.
    """
    header = {"type": "plain_text", "text": cut(prefix + title, _HEADER), "emoji": True}
    blocks: list[dict[str, Any]] = [{"type": "header", "text": header}]
    blocks += [
        {"type": "section", "text": {"type": "plain_text", "text": cut(words, _TEXT), "emoji": False}}
        for words in texts
    ]
    # Half a link would be none, and the words have it too.
    markup = f"<{_escaped(link)}|Open dialwatch>"
    if link and len(markup) <= _TEXT:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": markup, "verbatim": True}})
    return {"text": cut(_escaped(title), _TEXT), "mrkdwn": False, "blocks": blocks}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
