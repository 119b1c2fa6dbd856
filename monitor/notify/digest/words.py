"""Words of a digest: its headline, and a line of each deployment, as every message writes them."""

from __future__ import annotations

from datetime import datetime

from lake.spec.metric_names import quoted_name
from monitor.notify.digest.table import DigestRow, DigestTable, Quality
from monitor.notify.texts.plain import money, one_line, percent, time

MISSING = "could not be looked at, see the log of the monitor"
NOTHING = "No deployment had a request or an incident."


def headline(table: DigestTable) -> str:
    """Say in one line what a digest is about, and the worst of it."""
    worse = sum(row.is_worse for row in table.rows)
    number = table.total.incidents
    found = [
        f"{worse} of {len(table.rows)} deployments got worse" if worse else "no deployment got worse",
        f"{number} incident{'' if number == 1 else 's'}" if number else "no incident",
    ]
    if table.missing:
        found.append(f"{_missing(table)} could not be looked at")
    return f"Digest of {table.period.words}: {', '.join(found if table.rows else ['no request'])}"


def total_line(table: DigestTable) -> str:
    """Say in one line what all deployments together had."""
    late = f" {_late(table.complete_until)}" if table.complete_until else ""
    if not table.rows:
        return f"{NOTHING}{late}"
    total = table.total
    judges = f"; judges cost {amount(total.judge_cost, table.currency)}" if total.judge_cost else ""
    are = "is" if table.missing == 1 else "are"
    left_out = f" {_missing(table)} could not be looked at and {are} not counted." if table.missing else ""
    return f"All together: {'; '.join(_counts(total, table.currency))}{judges}.{left_out}{late}"


def row_line(row: DigestRow, currency: str) -> str:
    """Say in one line what a deployment had."""
    if row.is_missing:
        return one_line(f"{row.deployment}: {MISSING}")
    parts = [quality_words(row.quality)] if row.quality else []
    if row.incidents:
        parts.append(incident_words(row))
    parts += _counts(row, currency)
    new = " (new version)" if row.is_new_version else ""
    return one_line(f"{row.deployment}{new}: {'; '.join(parts)}")


def quality_words(quality: Quality) -> str:
    """Say how the metric stands against the week before."""
    before = ""
    if quality.before is not None:
        word = "no change beyond chance" if quality.change == "same" else quality.change
        before = f", {quality.before:.2f} the week before ({word})"
    return f"{quoted_name(quality.metric)} {quality.mean:.2f}{before}"


def incident_words(row: DigestRow) -> str:
    """Say how many incidents there were, and how many go on."""
    goes_on = f", {row.open_incidents} still open" if row.open_incidents else ""
    return f"{row.incidents} incident{'' if row.incidents == 1 else 's'}{goes_on}"


def failed_share(row: DigestRow) -> float | None:
    """Return the share of requests that failed; None where there was no request."""
    return row.failed / row.requests if row.requests else None


def amount(value: float, currency: str) -> str:
    """Return an amount with the word of its currency, where there is one."""
    return f"{money(value)} {currency}".strip()


def _late(complete_until: datetime) -> str:
    return f"What came after {time(complete_until)} may be missing: the collector or the evaluator is late."


def _missing(table: DigestTable) -> str:
    return f"{table.missing} deployment{'' if table.missing == 1 else 's'}"


def _counts(row: DigestRow, currency: str) -> list[str]:
    parts = [f"{row.requests:,} request{'' if row.requests == 1 else 's'}, {percent(failed_share(row))} failed"]
    if row.likes or row.dislikes:
        likes, dislikes = ("" if number == 1 else "s" for number in (row.likes, row.dislikes))
        parts.append(f"{row.likes:,} like{likes}, {row.dislikes:,} dislike{dislikes}")
    if row.cost:
        parts.append(f"cost {amount(row.cost, currency)}")
    return parts
