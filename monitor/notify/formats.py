"""The body of a message in the receiver's format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec

from monitor.alerts.change import AlertChange
from monitor.notify.body import webhook_body
from monitor.notify.link import link_to
from monitor.notify.settings import WebhookSettings
from monitor.notify.text import description, summary
from monitor.notify.words import one_line

_SLACK_HEADER = 150
_SLACK_TEXT = 3000
_SLACK_BLOCKS = 50
_TEAMS_LINE = 1000
_TEAMS_BYTES = 20_000


def written(changes: Sequence[AlertChange], webhook: WebhookSettings, external_url: str) -> bytes:
    """Give the message about changes of one deployment, all `firing` or all `resolved`, as the receiver reads it."""
    if webhook.format == "slack":
        return msgspec.json.encode(_slack(changes, external_url))
    if webhook.format == "teams":
        return msgspec.json.encode(_teams(changes, external_url))
    return webhook_body(changes, webhook.name, external_url)


def title(changes: Sequence[AlertChange]) -> str:
    """Say in one line what the message is about."""
    if len(changes) == 1:
        return summary(changes[0])
    fires = changes[0].change == "firing"
    name = one_line(changes[0].key.deployment)
    if changes[0].is_floor:
        return f"{name}: {len(changes)} limits are {'passed' if fires else 'kept again'}"
    return f"{name}: {_happened(changes) if fires else _ended(changes)}"


def _happened(changes: Sequence[AlertChange]) -> str:
    by_judge = sum(change.verdict == "judge" for change in changes)
    if by_judge == len(changes):
        return f"the judge of {by_judge} metrics changed, not the application"
    return f"{len(changes)} metrics got worse" + (f", {by_judge} of them by a changed judge alone" if by_judge else "")


def _ended(changes: Sequence[AlertChange]) -> str:
    withdrawn = sum(change.is_withdrawn for change in changes)
    if not withdrawn:
        return f"{len(changes)} metrics are well again"
    return f"{len(changes)} alerts are over, {withdrawn} of them without a recovery"


def _slack(changes: Sequence[AlertChange], external_url: str) -> dict[str, Any]:
    """Blocks of an incoming webhook (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).

    Slack's own markup has no escape for `*_~` and backticks. So all words are `plain_text`, in which nothing is markup,
    a link or a mention; just the link to our page is markup, and `verbatim`, so that nothing else becomes one.
    """
    mark = _mark(changes, ":red_circle: ", ":large_green_circle: ", ":white_circle: ")
    header = {"type": "plain_text", "text": _cut(mark + title(changes), _SLACK_HEADER), "emoji": True}
    blocks: list[dict[str, Any]] = [{"type": "header", "text": header}]
    for change in changes[: _SLACK_BLOCKS - 2]:
        words = _cut(_words(change, changes, external_url), _SLACK_TEXT)
        blocks.append({"type": "section", "text": {"type": "plain_text", "text": words, "emoji": False}})
    link = link_to(changes[0].key.deployment, external_url)
    # Half a link would be none, and the words have it too.
    markup = f"<{_slack_escaped(link)}|Open dialwatch>"
    if link and len(markup) <= _SLACK_TEXT:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": markup, "verbatim": True}})
    return {"text": _cut(_slack_escaped(title(changes)), _SLACK_TEXT), "mrkdwn": False, "blocks": blocks}


def _teams(changes: Sequence[AlertChange], external_url: str) -> dict[str, Any]:
    """A message with an adaptive card, as the workflow "when a Teams webhook request is received" takes it."""
    colour = _mark(changes, "attention", "good", "default")
    headline = _block(_cut(title(changes), _TEAMS_LINE), size="large", weight="bolder", color=colour)
    lines = [line for change in changes for line in _words(change, changes, external_url).splitlines()]
    blocks = [_block(_cut(line, _TEAMS_LINE)) for line in lines]
    sizes = accumulate(len(msgspec.json.encode(block)) for block in blocks)
    body = [headline, *(block for block, size in zip(blocks, sizes, strict=True) if size <= _TEAMS_BYTES)]
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if link := link_to(changes[0].key.deployment, external_url):
        content["actions"] = [{"type": "Action.OpenUrl", "title": "Open dialwatch", "url": link}]
    card = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [card]}


def _mark(changes: Sequence[AlertChange], bad: str, good: str, neither: str) -> str:
    if changes[0].change == "firing":
        return bad
    return neither if any(change.is_withdrawn for change in changes) else good


def _words(change: AlertChange, changes: Sequence[AlertChange], external_url: str) -> str:
    """Give the description; among others its summary goes before it."""
    words = description(change, external_url)
    return words if len(changes) == 1 else f"{summary(change)}\n{words}"


def _block(text: str, **style: str) -> dict[str, Any]:
    # Teams reads Markdown: a name such as a_b_c must not become italic, and "1. x" or "- x" no list.
    words = re.sub(r"([\\`*_~\[\]#<>&{}|!])", r"\\\1", text)
    words = re.sub(r"^(\s*)([-+])", r"\1\\\2", words)
    words = re.sub(r"^(\s*\d+)([.)])", r"\1\\\2", words)
    return {"type": "TextBlock", "text": words, "wrap": True, **style}


def _slack_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
