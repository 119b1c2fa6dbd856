"""The commands `dialwatch ground-truth accept`, `reject`, `edit` and `extract`: what people and judges do to cases."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.commands.ground_truth.case_content import CONTENT, LISTS, NOTE, changes_of, problems_of, written
from dialwatch.commands.ground_truth.cases import (
    FoundCase,
    IdArgument,
    IdsArgument,
    JudgeOption,
    NamedDeploymentOption,
    NoteOption,
    WhoOption,
    all_cases,
    asked_judge,
    cases_named,
    checked_deployment,
    who_of,
)
from dialwatch.commands.options import (
    ConfigOption,
    LakeOption,
    OnlyDeploymentOption,
    check_name,
    comment_of,
    open_filled,
    settings_of,
)
from dialwatch.reports.terminal_text import in_one_line, visible
from lake.spec.case_vocabulary import CaseStatus

if TYPE_CHECKING:
    from evaluator.ground_truth import Extraction
    from lake.queries.ground_truth.case_versions import CaseChangedError
    from lake.tables.lake import Lake

Columns = Mapping[str, str]


def accept(
    written_ids: IdsArgument,
    deployment: OnlyDeploymentOption = None,
    note: NoteOption = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Accept cases: their answers are right. A rejected case can be accepted again."""
    _decide(CaseStatus.ACCEPTED, written_ids, deployment, note, who, lake, config)


def reject(
    written_ids: IdsArgument,
    deployment: OnlyDeploymentOption = None,
    note: NoteOption = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Reject cases: no answer is compared with them any more. An accepted case can be rejected."""
    _decide(CaseStatus.REJECTED, written_ids, deployment, note, who, lake, config)


def edit(
    written_id: IdArgument,
    deployment: OnlyDeploymentOption = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change question, answer, or a list as JSON: facts, documents, "
            "context, tool_calls. Can be repeated; without it the case is opened in $EDITOR.",
        ),
    ] = None,
    accept_: Annotated[bool, typer.Option("--accept", help="Accept the case too.")] = False,
    note: NoteOption = "",
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Change a case, in $EDITOR (else vi) as YAML. It keeps its status, and all its versions can be read."""
    given = _given(values or [])
    note, by = comment_of(note, "--note"), who_of(who)
    opened = open_filled(settings_of(config, lake))
    (found,) = cases_named(opened, [written_id], deployment)
    content = _checked(found, given) if given else _in_editor(found)
    said = content.pop(NOTE, None) or note or None
    columns = changes_of(found.case, content)
    if accept_ and found.case["status"] != CaseStatus.ACCEPTED:
        columns["status"] = CaseStatus.ACCEPTED
    if not columns:
        typer.echo(f"nothing is changed in {found.name}")
        return
    _save(opened, found, columns | {"note": said}, by, datetime.now(UTC))


def extract(
    deployment: NamedDeploymentOption,
    written_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="Cases; without one all proposed ones whose facts the judge lacks."),
    ] = None,
    judge: JudgeOption = None,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask a judge which facts the answers of cases need. Each must stand in the contexts of its answer."""
    check_name("--deployment", deployment, "give a name")
    by = who_of(who)
    settings = settings_of(config, lake)
    from evaluator.answers import DeploymentTables
    from evaluator.ground_truth import extract_facts, lacking

    opened = open_filled(settings)
    checked_deployment(opened, deployment)
    with asked_judge(settings, opened, judge, "names the facts") as asked:
        cases: Sequence[Mapping[str, Any]]
        if written_ids:
            cases = [one.case for one in cases_named(opened, written_ids, deployment)]
        else:
            cases = lacking([one.case for one in all_cases(opened, deployment)], asked)
        if not cases:
            typer.echo("there is no proposed case whose facts this judge has not named")
            return
        made = extract_facts(DeploymentTables.of(opened, deployment), asked, cases, by, datetime.now(UTC))
    _print_extraction(made)
    if made.left:
        raise SystemExit(1)


def _decide(
    status: CaseStatus,
    written_ids: list[str],
    deployment: str | None,
    note: str,
    who: str | None,
    lake: str | None,
    config: Path | None,
) -> None:
    """Give cases a status, in one commit a deployment; raises BadParameter, and changes nothing, where an id is wrong.

    Ends with exit code 1 where somebody else changed one of them meanwhile, which is left as it is.
    """
    note, by = comment_of(note, "--note"), who_of(who)
    opened = open_filled(settings_of(config, lake))
    now = datetime.now(UTC)
    by_deployment: dict[str, list[FoundCase]] = defaultdict(list)
    for one in cases_named(opened, written_ids, deployment):
        by_deployment[one.deployment].append(one)
    columns: Columns = {"status": status} | ({"note": note} if note else {})
    overtaken = [lost for name, some in by_deployment.items() for lost in decide(opened, name, some, columns, by, now)]
    for problem in overtaken:
        typer.echo(f"not {status}: {problem}", err=True)
    if overtaken:
        raise typer.Exit(1)


def decide(
    lake: Lake, deployment: str, some: Iterable[FoundCase], columns: Columns, who: str, now: datetime
) -> list[CaseChangedError]:
    """Decide on cases of one deployment, and return those that others changed first."""
    from lake.queries.ground_truth.case_versions import change_cases

    shown = {one.case_id: one for one in some}
    overtaken: dict[str, CaseChangedError] = {}

    def change(cases: Mapping[str, Mapping[str, object]]) -> Mapping[str, Columns]:
        overtaken.clear()
        overtaken.update({one.case_id: lost for one in shown.values() if (lost := changed_since(one, cases))})
        return {
            case_id: columns
            for case_id, one in shown.items()
            if case_id not in overtaken and (one.case["status"] != columns["status"] or "note" in columns)
        }

    changed = {case["case_id"] for case in change_cases(lake, deployment, change, who, now)}
    for case_id, one in shown.items():
        if case_id not in overtaken:
            word = columns["status"] if case_id in changed else f"was {columns['status']} already"
            typer.echo(f"{word}: {one.name}: {in_one_line(one.case['question'] or '', 80)}")
    return list(overtaken.values())


def changed_since(shown: FoundCase, cases: Mapping[str, Mapping[str, object]]) -> CaseChangedError | None:
    """Say who changed a case since it was read; None where nobody did."""
    from lake.queries.ground_truth.case_versions import CaseChangedError

    now = cases.get(shown.case_id)
    if now is None:
        return CaseChangedError(f"{shown.name} was removed meanwhile")
    if now["version"] == shown.case["version"]:
        return None
    by = in_one_line(str(now["updated_by"]))
    return CaseChangedError(f"{shown.name} was changed by {by} meanwhile: look at it, and decide again")


def _given(values: list[str]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    wrong = [name for name, sign, _ in pairs if not sign]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} has no value: write it as NAME=VALUE", param_hint="--set")
    return {name: value for name, _, value in pairs}


def _save(lake: Lake, found: FoundCase, columns: Mapping[str, Any], who: str, now: datetime) -> None:
    from lake.queries.ground_truth.case_versions import CaseChangedError, change_case

    try:
        made = change_case(lake, found.deployment, found.case_id, columns, who, now, of_version=found.case["version"])
    except CaseChangedError as error:
        typer.echo(f"nothing is changed: {visible(str(error))}; edit it again", err=True)
        raise typer.Exit(1) from None
    if made is None:
        typer.echo(f"nothing is changed: {found.name} was removed meanwhile", err=True)
        raise typer.Exit(1)
    names = [name for name in (*CONTENT, "status") if name in columns]
    typer.echo(f"{found.name} is version {made['version']}: {', '.join(names)} changed, {made['status']}")
    if columns.get("conversation_hash", "") is None:
        typer.echo("its question stands by itself now: answers in other conversations are compared with it")


def _checked(found: FoundCase, given: Mapping[str, str]) -> dict[str, Any]:
    content = {name: _value(name, text) for name, text in given.items()}
    problems = problems_of({**written(found.case), **content})
    if problems:
        raise typer.BadParameter(visible("; ".join(problems)), param_hint="--set")
    return content


def _value(name: str, text: str) -> Any:
    if name not in CONTENT:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(CONTENT)}", param_hint="--set")
    if name not in LISTS:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise typer.BadParameter(f'{name} must be a list as JSON, such as ["a", "b"]', param_hint="--set")
    return value


def _in_editor(found: FoundCase) -> dict[str, Any]:
    """Return what a person leaves in the editor; it is asked again as long as something is wrong with it."""
    from dialwatch.commands.ground_truth.case_yaml import CaseYamlError, content_of, edited, yaml_of

    text = before = yaml_of(written(found.case))
    problems: list[str] = []
    title = f"{found.name}, version {found.case['version']}, {found.case['status']}"
    while True:
        text = edited(text, title, problems)
        if text == before:
            return {}
        try:
            content = content_of(text)
            problems = problems_of({**written(found.case), **content})
        except CaseYamlError as error:
            problems = str(error).split("\n")
        if not problems:
            return content
        for problem in problems:
            typer.echo(visible(problem), err=True)
        if not typer.confirm("Edit it again?", default=True, err=True):
            typer.echo("nothing is changed", err=True)
            raise typer.Exit(1)


def _print_extraction(made: Extraction) -> None:
    spend = made.spend
    typer.echo(
        f"{made.facts:,} facts of {made.cases:,} cases, {made.dropped:,} citations that stand nowhere were dropped, "
        f"{made.unsupported:,} cases without support are stale; "
        f"{spend.calls:,} calls, {spend.prompt_tokens:,} tokens read, {spend.completion_tokens:,} written, "
        f"cost {spend.cost:.4f}"
    )
    for reason, count in made.left.items():
        typer.echo(f"{count:,} cases as they were: {reason}")
