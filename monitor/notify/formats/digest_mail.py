"""The mail of a summary that has a digest's table: as text, and as HTML that mail clients show."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lake.spec.metric_names import metric_name
from monitor.notify.digest.table import DigestRow, DigestTable, Quality
from monitor.notify.digest.words import MISSING, amount, failed_share, headline, row_line, total_line
from monitor.notify.formats.mail import Mail, button, clean, heading, html_page, paragraph, subject
from monitor.notify.texts.link import link_to
from monitor.notify.texts.plain import percent

MOST_ROWS = 100
_GREY, _RED, _GREEN = "#5f6368", "#b3261e", "#1e7b34"
_HEADS = ("Quality", "Incidents", "Failed", "Likes", "Cost")
_CELL = "padding:2px 8px 8px 0;vertical-align:top;text-align:left"
_ARROWS = {"worse": (_RED, "&#9660; worse"), "better": (_GREEN, "&#9650; better"), "same": (_GREY, "")}


def digest_mail(table: DigestTable, incidents: Sequence[str], link: str, external_url: str) -> Mail:
    """Return the mail: `incidents` are lines about those that go on, `link` and `external_url` lead to our pages."""
    words, total = clean(headline(table)), clean(total_line(table))
    rows, more = table.rows[:MOST_ROWS], _more(table)
    lines = [clean(row_line(row, table.currency)) for row in rows]
    going_on = ["", "Incidents that go on:", *map(clean, incidents)] if incidents else []
    text = [words, "", total, "", *lines, *more, *going_on, *(["", link] if link else []), ""]
    content = [heading(words, _GREY), paragraph(total)]
    if rows:
        head = "".join(
            f'<th style="{_CELL};color:{_GREY};font-weight:normal;font-size:13px">{one}</th>' for one in _HEADS
        )
        body = "".join(_row(row, table.currency, external_url) for row in rows)
        content.append(
            '<table role="presentation" style="width:100%;border-collapse:collapse;font-size:14px">'
            f"<tr>{head}</tr>{body}</table>"
        )
    content += map(paragraph, more)
    if incidents:
        content += [
            heading("Incidents that go on", _RED),
            *(paragraph(clean(line), external_url) for line in incidents),
        ]
    return Mail(subject(words), "\n".join(text), html_page([*content, button(link)]))


def _more(table: DigestTable) -> list[str]:
    left = len(table.rows) - MOST_ROWS
    return [f"{left} more deployments are on the overview."] if left > 0 else []


def _row(row: DigestRow, currency: str, external_url: str) -> str:
    """Return two rows of the table: the name over its figures, which so have room on a telephone."""
    cells = (
        _quality(row.quality),
        _incidents(row),
        f"{_together(percent(failed_share(row)))}<br>{_small(f'of {row.requests:,}')}",
        f"{row.likes:,}<br>{_small(f'{row.dislikes:,} dislikes')}" if row.likes or row.dislikes else "&ndash;",
        _together(html.escape(amount(row.cost, currency))) if row.cost else "&ndash;",
    )
    figures = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return (
        f'<tr><td colspan="{len(_HEADS)}" style="padding:8px 0 0;border-top:1px solid #dadce0;'
        f'overflow-wrap:anywhere">{_name(row, external_url)}</td></tr><tr>{figures}</tr>'
    )


def _name(row: DigestRow, external_url: str) -> str:
    name, link = html.escape(clean(row.deployment)), link_to(row.deployment, external_url)
    shown = f'<a href="{html.escape(link)}" style="color:#1a56b0;text-decoration:none">{name}</a>' if link else name
    note = MISSING if row.is_missing else "new version" if row.is_new_version else ""
    return f"<strong>{shown}</strong>{f' {_small(note)}' if note else ''}"


def _quality(quality: Quality | None) -> str:
    if quality is None:
        return "&ndash;"
    colour, arrow = _ARROWS[quality.change]
    was = f" (was {quality.before:.2f})" if quality.before is not None else ""
    moved = f' <span style="color:{colour};white-space:nowrap">{arrow}</span>' if arrow and was else ""
    return f"{quality.mean:.2f}{was}{moved}<br>{_small(html.escape(clean(metric_name(quality.metric))))}"


def _incidents(row: DigestRow) -> str:
    if not row.incidents:
        return "0"
    is_open = f'<br><span style="color:{_RED}">{row.open_incidents} open</span>' if row.open_incidents else ""
    return f"{row.incidents}{is_open}"


def _together(words: str) -> str:
    return words.replace(" ", "&nbsp;")


def _small(words: str) -> str:
    return f'<span style="color:{_GREY};font-size:12px">{words}</span>'
