"""The command `dialwatch ground-truth bad`: answers that people found bad, to look at and to learn from."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.ground_truth.cases import JsonOption, NamedDeploymentOption, checked_deployment
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.reports.terminal_text import in_one_line
from dialwatch.times import format_time, past_moment
from lake.spec.vocabulary import Signal

if TYPE_CHECKING:
    from lake.tables.lake import Lake

_DAY = timedelta(days=1)
_COMMENT = 200


@dataclass(frozen=True)
class BadAnswer:
    """An answer that people found bad.

    `folded` is what the signals of the people who asked come to, below 0, null where they gave none or are content.
    `share_of_right` is that of the people who labelled it.
    """

    deployment: str
    event_id: str
    requested_at: datetime
    question: str | None
    folded: float | None
    share_of_right: float | None
    signals: Sequence[Mapping[str, Any]]


def bad(
    deployment: NamedDeploymentOption,
    since: Annotated[str, typer.Option(help="How far back: 7d, 12h, or a date or time (UTC).")] = "30d",
    most: Annotated[int, typer.Option(min=1, help="How many are shown.")] = 50,
    as_json: JsonOption = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """List the answers that people found bad, the worst first: their signals come to less than 0, or they are labelled.

    The questions are those that people wrote: show them only to those who may read them.
    """
    check_name("--deployment", deployment, "give a name")
    moment = past_moment(since, "--since", datetime.now(UTC))
    opened = open_filled(settings_of(config, lake))
    from runtime.json_values import json_values

    found = bad_answers(opened, checked_deployment(opened, deployment), moment)
    if as_json:
        # In ASCII: no character of a text reaches the terminal as it is.
        typer.echo(json.dumps(json_values(found), indent=2, ensure_ascii=True))
        return
    if not found:
        typer.echo(f"nobody found an answer bad since {format_time(moment)}")
        return
    typer.echo("\n\n".join(_lines(one) for one in found[:most]))
    if len(found) > most:
        typer.echo(f"\n... and {len(found) - most:,} more; --most shows more of them")


def bad_answers(lake: Lake, deployment: str, since: datetime) -> list[BadAnswer]:
    """Return the answers that were asked for since a time and that people found bad, the worst first.

    Those that are only labelled come last.
    """
    import pyarrow.dataset as ds

    from evaluator.ground_truth import IS_OPINION
    from lake.queries.answer_rows import IS_ANSWER
    from lake.queries.ratings import IS_LABEL, shares_of_right
    from lake.queries.signals import FOLD_COLUMNS
    from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, read_signaled, signals_by_answer
    from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS

    # No signal is older than its answer, but that clocks and zones of time may differ by a day.
    first = since.astimezone(UTC).date() - _DAY
    recent = ds.field("date") >= first
    columns = tuple(dict.fromkeys((*SIGNAL_JOIN_COLUMNS, *FOLD_COLUMNS)))
    signals = lake.table(USER_SIGNALS, deployment).read(columns, recent & (IS_OPINION | IS_LABEL))
    if not signals.num_rows:
        return []
    logs = lake.table(PARSED_LOGS, deployment)
    known = read_signaled(logs, signals)
    rated = sorted(set(known["event_id"].to_pylist()))
    where = IS_ANSWER & recent & (ds.field("requested_at") >= since) & ds.field("event_id").isin(rated)
    answers = logs.read((*JOIN_COLUMNS, "question"), where)
    shares = shares_of_right(answers, signals.filter(IS_LABEL), known)
    of_each = signals_by_answer(answers, signals, known)
    each = enumerate(answers.to_pylist())
    found = [_bad(deployment, row, shares.get(number), of_each.get(number, ())) for number, row in each]
    bad = {one.event_id: one for one in found if one is not None}
    return sorted(bad.values(), key=_how_bad)


def _bad(
    deployment: str,
    row: Mapping[str, Any],
    share_of_right: float | None,
    said: Sequence[Mapping[str, Any]],
) -> BadAnswer | None:
    from lake.queries.signals import fold_signals

    signals = list(said)
    folded = fold_signals(signals)
    is_wrong = share_of_right is not None and share_of_right < 1
    if not is_wrong and (folded is None or folded >= 0):
        return None
    below = folded if folded is not None and folded < 0 else None
    signals.sort(key=lambda signal: (str(signal["signaled_at"]), signal["signal_id"] or ""))
    asked = (row["event_id"], row["requested_at"], row["question"])
    return BadAnswer(deployment, *asked, below, share_of_right, signals)


def _how_bad(answer: BadAnswer) -> tuple[float, float, float, str]:
    share = 1.0 if answer.share_of_right is None else answer.share_of_right
    return answer.folded or 0.0, share, -answer.requested_at.timestamp(), answer.event_id


def _lines(answer: BadAnswer) -> str:
    head = "labelled" if answer.folded is None else f"{answer.folded:.2f}"
    words = ("dialwatch show", shlex.quote(answer.event_id), "--deployment", shlex.quote(answer.deployment))
    return "\n".join(
        [
            f"{head}  {format_time(answer.requested_at)}  {', '.join(_why(answer))}",
            *(f"  {line}" for line in _comments(answer.signals)),
            f"  {in_one_line(answer.question or '(no question)', 100)}",
            f"  {in_one_line(' '.join(words), 1000)}",
        ]
    )


def _why(answer: BadAnswer) -> Iterable[str]:
    counts = Counter((signal["signal"] or "", signal["origin"] or "") for signal in answer.signals)
    for (signal, origin), count in counts.items():
        times = f" x{count}" if count > 1 else ""
        yield in_one_line(f"{signal}{times} ({origin})")
    if answer.share_of_right:
        yield f"people disagree: {answer.share_of_right:.0%} say {Signal.RIGHT}"


def _comments(signals: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    from lake.queries.comments import comment_of, members_of

    for signal in signals:
        comment = comment_of(members_of(signal["details"]))
        if comment and comment.strip():
            yield f'{in_one_line(signal["user_id"] or "somebody")}: "{in_one_line(comment, _COMMENT)}"'
