"""The commands `dialwatch ground-truth export` and `import`: cases to a file, and from one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.ground_truth.case_files import (
    CaseFormat,
    csv_of,
    format_of,
    json_lines_of,
    parquet_of,
    rows_of,
)
from dialwatch.commands.ground_truth.cases import NamedDeploymentOption, WhoOption, checked_deployment, who_of
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.reports.terminal_text import in_one_line
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus

if TYPE_CHECKING:
    from dialwatch.commands.ground_truth.imported_rows import ImportOutcome

_MOST_PROBLEMS = 50
_SHOWN = 500

_FormatOption = Annotated[
    CaseFormat | None, typer.Option("--format", help="What the file is; by default as its name ends.")
]


def export(
    file: Annotated[str, typer.Argument(help="Where to: .parquet, .csv or .jsonl; local or s3://.")],
    deployment: NamedDeploymentOption,
    case_format: _FormatOption = None,
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
    from dialwatch.lake_access import usual_permissions
    from evaluator.datasets.files import writing
    from lake.queries.ground_truth.case_versions import is_doubted, read_cases
    from lake.spec.case_tables import GROUND_TRUTH

    chosen = format_of(file, case_format)
    opened = open_filled(settings)
    checked_deployment(opened, deployment)
    wanted = tuple(status or USABLE_STATUS)
    found = read_cases(opened.table(GROUND_TRUTH, deployment), wanted)
    cases = [case for case in found if not is_doubted(case)]
    cases.sort(key=lambda case: (str(case["created_at"] or ""), case["case_id"]))
    alone = [case for case in cases if case["conversation_hash"] is not None]
    if chosen is CaseFormat.JSONL:
        content, alone = json_lines_of(cases, deployment), []
    elif chosen is CaseFormat.CSV:
        content = csv_of([case for case in cases if case["conversation_hash"] is None])
    else:
        content = parquet_of(opened, deployment, wanted)
    with usual_permissions(), writing(file, settings.lake.storage.storage()) as written:
        written.write(content)
    typer.echo(f"{len(cases) - len(alone):,} cases written to {file}")
    if alone:
        typer.echo(f"left out: {len(alone):,} whose question only its conversation explains; jsonl has them")
    if doubted := len(found) - len(cases):
        typer.echo(f"left out: {doubted:,} that nobody has accepted and whose answer was given during an incident")


def import_(
    file: Annotated[str, typer.Argument(help="Table of cases: .parquet, .csv or .jsonl; local or s3://.")],
    deployment: NamedDeploymentOption,
    case_format: _FormatOption = None,
    accept_: Annotated[bool, typer.Option("--accept", help="Accept the cases: their answers are right.")] = False,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Read cases from a file. A case that the lake has gets a new version if the file says something else.

    A row that cannot be used is left out and named; the exit code is 1 then.
    """
    check_name("--deployment", deployment, "give a name")
    by = who_of(who)
    settings = settings_of(config, lake)
    from dialwatch.commands.ground_truth.imported_rows import Import, ImportOutcome, take
    from lake.queries.ground_truth.case_versions import write_cases

    opened, about = settings.lake.open(), Import(deployment, by, datetime.now(UTC), accept_)
    filesystem, at = settings.lake.storage.storage().filesystem(file)
    rows = rows_of(file, format_of(file, case_format), filesystem.cat_file(at))
    if deployment not in opened.deployments():
        name = in_one_line(deployment)
        typer.echo(f"note: the lake {opened.root} has no rows of {name} yet: are these the right names?", err=True)
    outcome = ImportOutcome()

    def make(cases: Mapping[str, Mapping[str, Any]]) -> Sequence[dict[str, Any]]:
        nonlocal outcome
        outcome = take(rows, cases, about)
        return [dict(case) for case in (*outcome.new, *outcome.changed)]

    write_cases(opened, deployment, make)
    _print(outcome)
    if outcome.problems:
        raise typer.Exit(1)


def _print(outcome: ImportOutcome) -> None:
    for problem in outcome.problems[:_MOST_PROBLEMS]:
        typer.echo(in_one_line(problem, _SHOWN), err=True)
    if more := len(outcome.problems[_MOST_PROBLEMS:]):
        typer.echo(f"... and {more:,} more problems", err=True)
    refused = len({problem.partition(":")[0] for problem in outcome.problems})
    counts = f"{len(outcome.new):,} new, {len(outcome.changed):,} changed, {outcome.unchanged:,} as they were"
    typer.echo(counts + (f"; {refused:,} rows not imported" if refused else ""))
