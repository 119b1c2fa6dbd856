"""Cases of a lake as people name them: by a deployment or by ids; and the options that say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.options import account, check_name
from dialwatch.errors import ConfigError
from dialwatch.reports.terminal_text import in_one_line
from lake.spec.case_vocabulary import CaseStatus

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from evaluator.judges.blocking_client import BoundJudge
    from lake.tables.lake import Lake

NamedDeploymentOption = Annotated[str, typer.Option(help="Deployment, as DIAL names it.")]
StatusOption = Annotated[list[CaseStatus] | None, typer.Option(help="Only of this status; can be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with all texts as a whole.")]
JudgeOption = Annotated[
    str | None, typer.Option(help="One of evaluator.judges; by default evaluator.ground_truth.judge.")
]
NoteOption = Annotated[str, typer.Option(help="Why; it stands in the history of the case.")]
WhoOption = Annotated[str | None, typer.Option(help="Who says so; by default your name on this machine.")]
IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="As `dialwatch ground-truth list` has them, or their beginnings.")
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="As `dialwatch ground-truth list` has it, or its beginning.")
]

SHOWN = 12
"""Characters of an id that are shown, and enough to name the case."""


@dataclass(frozen=True)
class FoundCase:
    """A case as it is, and the deployment whose table it is in."""

    deployment: str
    case: dict[str, Any]

    @property
    def case_id(self) -> str:
        """Its whole id."""
        return str(self.case["case_id"])

    @property
    def name(self) -> str:
        """How messages name it."""
        return f"case {short(self.case_id)} of {in_one_line(self.deployment)}"


def short(case_id: str) -> str:
    """Return the beginning of an id, fit for a terminal."""
    return in_one_line(case_id[:SHOWN])


def checked_deployment(lake: Lake, deployment: str) -> str:
    """Return the name of a deployment that the lake has; raises ConfigError."""
    if deployment not in lake.deployments():
        raise ConfigError(f"there is no deployment {deployment!r} in {lake.root}; `dialwatch lake ls` lists them")
    return deployment


@contextmanager
def asked_judge(settings: Settings, lake: Lake, judge: str | None, does: str) -> Iterator[BoundJudge]:
    """Open the judge of this name, or that of the configuration, which `does` something with cases.

    Raises ConfigError where there is none, and where somebody else changed the cases while the block ran.
    """
    from evaluator.service.judge_pool import JudgePool
    from lake.delta_log.change import LostRaceError

    name = judge or settings.evaluator.ground_truth.judge
    if name is None:
        raise ConfigError(f"which judge {does}? Give --judge, or set evaluator.ground_truth.judge")
    with closing(JudgePool(settings.evaluator, lake)) as pool:
        try:
            asked = pool.judge(name)
        except LookupError as error:
            raise ConfigError(str(error)) from None
        try:
            yield asked
        except LostRaceError:
            raise ConfigError("somebody else changed the cases meanwhile: run the command again") from None


def all_cases(lake: Lake, deployment: str | None) -> Iterator[FoundCase]:
    """Yield the cases of a deployment, or of all of them; raises ConfigError for one that is not there."""
    from lake.queries.ground_truth.case_versions import read_cases
    from lake.spec.case_tables import GROUND_TRUTH

    names = lake.deployments() if deployment is None else [checked_deployment(lake, deployment)]
    for name in names:
        if name is not None:
            yield from (FoundCase(name, case) for case in read_cases(lake.table(GROUND_TRUTH, name)))


def cases_named(lake: Lake, written_ids: Sequence[str], deployment: str | None) -> list[FoundCase]:
    """Return the cases with these ids, or their beginnings, each once; raises BadParameter if one is not clear."""
    cases = list(all_cases(lake, deployment))
    found = [_named(cases, written) for written in written_ids]
    return list({(one.deployment, one.case_id): one for one in found}.values())


def _named(cases: Sequence[FoundCase], written: str) -> FoundCase:
    whole = [one for one in cases if one.case_id == written]
    found = whole or [one for one in cases if written and one.case_id.startswith(written)]
    if not found:
        advice = "`dialwatch ground-truth list` has the ids"
        raise typer.BadParameter(f"there is no case {written!r}; {advice}", param_hint="ID")
    if whole and len(whole) > 1:
        where = ", ".join(in_one_line(one.deployment) for one in whole)
        raise typer.BadParameter(f"{where} have a case {written!r}: name one by --deployment", param_hint="ID")
    if len(found) > 1:
        raise typer.BadParameter(f"{len(found)} cases begin with {written!r}: give more of it", param_hint="ID")
    return found[0]


def who_of(written: str | None) -> str:
    """Return who changes a case; raises BadParameter."""
    check_name("--who", written, "give a name, or leave the option out")
    who = written or account()
    if who is None:
        raise typer.BadParameter("this account has no name: say who you are", param_hint="--who")
    return who
