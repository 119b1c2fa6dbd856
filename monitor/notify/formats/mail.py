"""The format of mail: a subject, words as text, and the same words as HTML that mail clients show."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.notify.formats.chat_text import mark, text_of, title
from monitor.notify.texts.incident import IncidentNote, main_link, note_lines, tier_of
from monitor.notify.texts.plain import cut, one_line

_SUBJECT, _LINE, _LINES = 200, 2000, 200
_BAD, _GOOD, _NEITHER = "#b3261e", "#1e7b34", "#5f6368"
_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
    '<body style="margin:0;padding:16px;background:#ffffff;color:#202124;'
    'font:15px/1.5 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif">'
    '<div style="max-width:960px;margin:0 auto">{content}</div></body></html>'
)
_TITLE = '<h1 style="margin:16px 0 12px;padding-left:10px;border-left:4px solid {colour};font-size:18px">{words}</h1>'
_PARAGRAPH = '<p style="margin:0 0 8px;overflow-wrap:anywhere">{words}</p>'
_BUTTON = (
    '<p style="margin:16px 0"><a href="{address}" style="display:inline-block;padding:8px 16px;border-radius:4px;'
    'background:#1a56b0;color:#ffffff;text-decoration:none">Open dialwatch</a></p>'
)


@dataclass(frozen=True)
class Mail:
    """What a mail says; `thread` is an id that mails about the same have in common."""

    subject: str
    text: str
    html: str
    thread: str | None = None


def alert_mail(changes: Sequence[AlertChange], external_url: str, incident: IncidentNote | None = None) -> Mail:
    """Return the mail about changes of one deployment, all `firing` or all `resolved`.

    Its subject begins with `page`, `warning` or `over`, by which mail clients can sort.
    """
    fires = changes[0].change == AlertEvent.FIRING
    worst = next((change for change in changes if change.pages), changes[0])
    about = note_lines(incident) if incident else ()
    lines = [*about, *(line for change in changes for line in text_of(change, changes, external_url).splitlines())]
    return text_mail(
        title(changes),
        lines,
        main_link(incident, changes[0].key.deployment, external_url),
        external_url,
        prefix=tier_of(worst) if fires else "over",
        colour=mark(changes, _BAD, _GOOD, _NEITHER),
        thread=incident.id if incident else None,
    )


def text_mail(
    headline: str,
    lines: Sequence[str],
    link: str,
    external_url: str,
    *,
    prefix: str = "",
    colour: str = _BAD,
    thread: str | None = None,
) -> Mail:
    """Return a mail with a headline, lines, and a link, empty for none; `external_url` is where our pages are."""
    shown = [cut(clean(line), _LINE) for line in lines[:_LINES]]
    words = clean(headline)
    content = [heading(words, colour), *(paragraph(line, external_url) for line in shown)]
    return Mail(
        subject=subject(f"{prefix}: {words}" if prefix else words),
        text="\n".join([words, "", *shown, *(["", link] if link else []), ""]),
        html=html_page([*content, button(link)]),
        thread=thread,
    )


def subject(words: str) -> str:
    """Return the words as a subject: one line, not too long, and known as ours."""
    return cut(f"[dialwatch] {clean(words)}", _SUBJECT)


def clean(text: str) -> str:
    """Return a text in one line; half a character, which no mail can have, is a question mark."""
    return one_line(text).encode("utf-8", "replace").decode()


def html_page(content: Sequence[str]) -> str:
    """Return a page with the parts in `content`, which are HTML."""
    return _PAGE.format(content="\n".join(content))


def heading(words: str, colour: str) -> str:
    """Return the HTML of a headline with a mark of a colour."""
    return _TITLE.format(colour=colour, words=html.escape(words))


def paragraph(line: str, external_url: str = "") -> str:
    """Return the HTML of a line, in which addresses of our pages are links."""
    return _PARAGRAPH.format(words=_with_links(line, external_url))


def button(link: str) -> str:
    """Return the HTML of a link to our pages; nothing where there is no link."""
    return _BUTTON.format(address=html.escape(link)) if link else ""


def _with_links(line: str, external_url: str) -> str:
    """Return the HTML of a line in which addresses of our pages are links; no other text becomes one."""
    if not external_url:
        return html.escape(line)
    parts = re.split(rf"({re.escape(external_url.rstrip('/'))}/[^\s;,]*)", line)
    shown = [html.escape(part) for part in parts]
    shown[1::2] = [f'<a href="{address}" style="color:#1a56b0">{address}</a>' for address in shown[1::2]]
    return "".join(shown)
