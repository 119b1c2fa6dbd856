"""The command `dialwatch compare`: a judge is asked which of two logged answers to the same question it prefers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.ground_truth.cases import NamedDeploymentOption, checked_deployment
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line

if TYPE_CHECKING:
    from datetime import date

    from dialwatch.config import Settings
    from evaluator.judges.blocking_client import BoundJudge
    from evaluator.preferences import ComparedAnswers
    from lake.queries.preferences import LoggedAnswers
    from lake.tables.lake import Lake


def compare(
    deployment: NamedDeploymentOption,
    before_deployment: Annotated[
        str, typer.Option(help="Deployment of the earlier answers, such as another version; without it the same.")
    ] = "",
    since: Annotated[
        str, typer.Option(help="First day of the later answers (UTC), as 2026-11-20; by default as on /compare.")
    ] = "",
    until: Annotated[str, typer.Option(help="Last day of the later answers.")] = "",
    before_since: Annotated[str, typer.Option(help="First day of the earlier answers.")] = "",
    before_until: Annotated[str, typer.Option(help="Last day of the earlier answers.")] = "",
    most: Annotated[int, typer.Option(min=1, help="Pairs that are compared, drawn by chance: one a question.")] = 50,
    judge: Annotated[
        str | None,
        typer.Option(
            help="One of evaluator.judges; by default evaluator.replay.preference, else that of the deployment."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask a judge which of two logged answers to the same question it prefers, in both orders.

    Of two periods of a deployment, or of two deployments. What it says is kept, and shown on the page /compare.
    """
    check_name("--deployment", deployment, "give a name")
    settings = settings_of(config, lake)
    opened = open_filled(settings)
    from datetime import UTC, datetime

    days = {"after_since": since, "after_until": until, "before_since": before_since, "before_until": before_until}
    given = {"deployment": deployment, "before_deployment": before_deployment, **days}
    earlier, later = _sides(opened, given, datetime.now(UTC).date())
    with _asked_judge(settings, opened, judge, deployment) as asked:
        from evaluator.preferences import compare_answers

        found = compare_answers(opened, earlier, later, asked, most)
        _print(earlier, later, asked.name, found, as_json=as_json)
    if found.without_reply:
        raise typer.Exit(1)


def _sides(lake: Lake, given: dict[str, str], today: date) -> tuple[LoggedAnswers, LoggedAnswers]:
    """Return the earlier and the later answers, of the days that /compare takes; raises BadParameter, ConfigError."""
    from monitor.pages.answers.query import BadQueryError
    from monitor.pages.compare.query import CompareQuery

    try:
        query = CompareQuery.read(given, today)
    except BadQueryError as error:
        raise typer.BadParameter(str(error)) from None
    for name in (query.earlier_deployment, query.deployment):
        checked_deployment(lake, name)
    earlier, later = query.sides
    if earlier.overlap(later):
        raise typer.BadParameter(f"both periods of {query.deployment!r} have the same days: an answer is no pair")
    return earlier, later


@contextmanager
def _asked_judge(settings: Settings, lake: Lake, judge: str | None, deployment: str) -> Iterator[BoundJudge]:
    """Open the judge; raises ConfigError where it is not known which, and where somebody else wrote meanwhile."""
    from evaluator.service.judge_pool import JudgePool
    from lake.delta_log.change import LostRaceError

    name = judge or settings.evaluator.replay.preference or _only(settings.evaluator.jury_of(deployment)[0])
    if name is None:
        raise ConfigError("which judge compares the answers? Give --judge, or set evaluator.replay.preference")
    with closing(JudgePool(settings.evaluator, lake)) as pool:
        try:
            asked = pool.judge(name)
        except LookupError as error:
            raise ConfigError(str(error)) from None
        if (problem := asked.settings.price_problem(f"a call of judge {name!r}")) is not None:
            raise ConfigError(problem)
        try:
            yield asked
        except LostRaceError:
            message = "another comparison, or an erasure, was at work meanwhile, and nothing of this one was kept"
            raise ConfigError(f"{message}: run it again, replies that came are not paid for again") from None


def _only(names: tuple[str, ...]) -> str | None:
    return names[0] if len(names) == 1 else None


def _print(earlier: LoggedAnswers, later: LoggedAnswers, judge: str, found: ComparedAnswers, *, as_json: bool) -> None:
    if as_json:
        from runtime.json_values import json_values

        before, after = (
            {"deployment": side.deployment, "since": side.since, "until": side.until} for side in (earlier, later)
        )
        given = {"before": before, "after": after, "judge": judge, "found": found}
        # In ASCII: no character of a text reaches the terminal as it is.
        typer.echo(json.dumps(json_values(given), indent=2, ensure_ascii=True))
        return
    typer.echo(f"before: {_words(earlier)}; after: {_words(later)}")
    typer.echo(_counts(found))
    if (said := found.preferences) is not None:
        typer.echo(
            f"preferred by the judge: after {said.later}, before {said.earlier}, ties {said.ties}, undecided "
            f"{said.undecided}; sign test {said.probability:.2g}"
        )
    if found.without_reply:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(found.without_reply.items()))
        typer.echo(f"without a reply: {reasons}; the others are kept, and only these are asked about in the next run")
    typer.echo(f"{found.calls:,} calls of the judge for {found.cost:,.4f}, in the currency of its prices")


def _words(side: LoggedAnswers) -> str:
    return f"{in_one_line(side.deployment or '(no deployment)')}, {side.since} to {side.until}"


def _counts(found: ComparedAnswers) -> str:
    own = f"; {found.own_model:,} answers of the judge's own model are left out" if found.own_model else ""
    if not found.questions:
        return f"no question has an answer on both sides: choose longer periods{own}"
    pairs = f"{found.pairs:,} pairs drawn, {found.known:,} of them compared before"
    return f"{found.questions:,} questions have answers on both sides; {pairs}{own}"
