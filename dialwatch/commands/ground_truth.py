"""The commands `dialwatch ground-truth ...`: cases that answers are compared with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dialwatch.actions.ground_truth.file_formats import CaseFormat
from dialwatch.commands.options import ConfigOption, LakeOption, account, check_name, comment_of, settings_of
from dialwatch.times import past_moment
from lake.spec.case_vocabulary import CaseStatus

app = typer.Typer(no_args_is_help=True, help="Ground truth: questions with right answers, to compare answers with.")

DeploymentOption = Annotated[str | None, typer.Option(help="Only of this deployment, as DIAL names it.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with all texts as a whole.")]
StatusOption = Annotated[list[CaseStatus] | None, typer.Option(help="Only of this status; can be repeated.")]
NamedDeploymentOption = Annotated[str, typer.Option(help="Deployment, as DIAL names it.")]
FormatOption = Annotated[
    CaseFormat | None, typer.Option("--format", help="What the file is; by default as its name ends.")
]
WhoOption = Annotated[str | None, typer.Option(help="Who says so; by default your name on this machine.")]
IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="As `dialwatch ground-truth list` has them, or their beginnings.")
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="As `dialwatch ground-truth list` has it, or its beginning.")
]


@app.command("list")
def list_(
    deployment: DeploymentOption = None,
    status: StatusOption = None,
    as_json: JsonOption = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """List the cases, the newest first, with those that ask the same and those that contradict each other."""
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import listing

    listing.show(settings, deployment, status or (), as_json=as_json)


@app.command()
def show(
    written_id: IdArgument,
    deployment: DeploymentOption = None,
    version: Annotated[int | None, typer.Option(min=1, help="Its version; the newest by default.")] = None,
    as_json: JsonOption = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print a case: its texts, its facts marked in their contexts, why it is a case, and its history."""
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import showing

    showing.show(settings, written_id, deployment, version, as_json=as_json)


@app.command()
def accept(
    written_ids: IdsArgument,
    deployment: DeploymentOption = None,
    note: Annotated[str, typer.Option(help="Why; it stands in the history of the case.")] = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Accept cases: their answers are right. A rejected case can be accepted again."""
    _decide(CaseStatus.ACCEPTED, written_ids, deployment, note, who, lake, config)


@app.command()
def reject(
    written_ids: IdsArgument,
    deployment: DeploymentOption = None,
    note: Annotated[str, typer.Option(help="Why; it stands in the history of the case.")] = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Reject cases: no answer is compared with them any more. An accepted case can be rejected."""
    _decide(CaseStatus.REJECTED, written_ids, deployment, note, who, lake, config)


@app.command()
def edit(
    written_id: IdArgument,
    deployment: DeploymentOption = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change question, answer, or a list as JSON: facts, documents, "
            "context. Can be repeated; without it the case is opened in $EDITOR.",
        ),
    ] = None,
    accept_: Annotated[bool, typer.Option("--accept", help="Accept the case too.")] = False,
    note: Annotated[str, typer.Option(help="Why; it stands in the history of the case.")] = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Change a case, in $EDITOR (else vi) as YAML. It keeps its status, and all its versions can be read."""
    given = _given(values or [])
    note, by = comment_of(note, "--note"), _who(who)
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import editing

    editing.edit(settings, written_id, deployment, given, note or None, by, datetime.now(UTC), accept=accept_)


@app.command("export")
def export(
    file: Annotated[str, typer.Argument(help="Where to: .parquet, .csv or .jsonl; local or s3://.")],
    deployment: NamedDeploymentOption,
    case_format: FormatOption = None,
    status: Annotated[
        list[CaseStatus] | None,
        typer.Option(help="Only of this status; can be repeated. By default proposed and accepted."),
    ] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write cases to a file: parquet for aidial-rag-eval, CSV for DIAL's evaluation framework, or JSON lines.

    The texts are those that people wrote and were given: give them only to those who may read them.
    """
    check_name("--deployment", deployment, "give a name")
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import exporting

    exporting.export(settings, deployment, file, case_format, status or ())


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="Table of cases: .parquet, .csv or .jsonl; local or s3://.")],
    deployment: NamedDeploymentOption,
    case_format: FormatOption = None,
    accept_: Annotated[bool, typer.Option("--accept", help="Accept the cases: their answers are right.")] = False,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Read cases from a file. A case that the lake has gets a new version if the file says something else.

    A row that cannot be used is left out and named; the exit code is 1 then.
    """
    check_name("--deployment", deployment, "give a name")
    by = _who(who)
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import importing

    importing.import_cases(settings, deployment, file, case_format, by, datetime.now(UTC), accept=accept_)


@app.command()
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
    now = datetime.now(UTC)
    moment = past_moment(since, "--since", now)
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import bad_answers

    bad_answers.show(settings, deployment, moment, most, as_json=as_json)


@app.command()
def extract(
    deployment: NamedDeploymentOption,
    written_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="Cases; without one all proposed ones whose facts the judge lacks."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="One of evaluator.judges; by default evaluator.ground_truth.judge.")
    ] = None,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask a judge which facts the answers of cases need. Each must stand in the contexts of its answer."""
    check_name("--deployment", deployment, "give a name")
    by = _who(who)
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import extracting

    extracting.extract(settings, deployment, written_ids or (), judge, by, datetime.now(UTC))


@app.command()
def replay(
    deployment: NamedDeploymentOption,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="End with exit code 1 if the answers got worse, also if that is only suspected.",
        ),
    ] = False,
    require_evidence: Annotated[
        bool,
        typer.Option(
            "--require-evidence",
            help="End with exit code 1 unless the run shows that there is no regression.",
        ),
    ] = False,
    accept_: Annotated[
        bool, typer.Option("--accept", help="Compare later runs with this one, whatever it finds.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a report for a CI: JUnit's XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a report for people: Markdown.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask the accepted cases again of the live deployment, and compare the answers case by case.

    Where and with which key they are asked is in `evaluator.replay`. The answers cost what questions of people cost.
    """
    check_name("--deployment", deployment, "give a name")
    settings = settings_of(config, lake)
    from dialwatch.actions.replays import replaying

    replaying.run(
        settings,
        deployment,
        junit,
        markdown,
        accept=accept_,
        fail_on_regression=fail_on_regression,
        require_evidence=require_evidence,
    )


def _given(values: list[str]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    wrong = [name for name, sign, _ in pairs if not sign]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} has no value: write it as NAME=VALUE", param_hint="--set")
    return {name: value for name, _, value in pairs}


def _decide(
    status: CaseStatus,
    written_ids: list[str],
    deployment: str | None,
    note: str,
    who: str | None,
    lake: str | None,
    config: ConfigOption,
) -> None:
    note, by = comment_of(note, "--note"), _who(who)
    settings = settings_of(config, lake)
    from dialwatch.actions.ground_truth import deciding

    deciding.decide(settings, written_ids, deployment, status, note or None, by, datetime.now(UTC))


def _who(written: str | None) -> str:
    """Give who changes a case; raises BadParameter."""
    check_name("--who", written, "give a name, or leave the option out")
    who = written or account()
    if who is None:
        raise typer.BadParameter("this account has no name: say who you are", param_hint="--who")
    return who
