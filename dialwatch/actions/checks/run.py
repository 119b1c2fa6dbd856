"""All checks of an installation, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import typer

from dialwatch.actions.checks.evaluator_checks import check_judges, check_models
from dialwatch.actions.checks.finding import Finding, Verdict, guarded
from dialwatch.actions.checks.lake_checks import check_lake, check_retention, check_signals
from dialwatch.actions.checks.receiver_checks import check_receivers
from dialwatch.actions.checks.source_checks import check_sources
from dialwatch.actions.checks.start_checks import check_start
from dialwatch.config import Settings
from lake.tables.lake import Lake

_WIDTHS = (max(map(len, Verdict)), len("receivers"))


def check_installation(settings: Settings) -> None:
    """Print what each check finds; raises Exit with code 1 where one failed."""
    verdicts = []
    for finding in findings_of(settings, settings.lake.open()):
        typer.echo(line_of(finding))
        verdicts.append(finding.verdict)
    if Verdict.FAILED in verdicts:
        raise typer.Exit(1)


def findings_of(settings: Settings, lake: Lake) -> Iterator[Finding]:
    """Give what each check finds, one after the other."""
    looks: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        ("lake", lambda: check_lake(lake)),
        ("signals", lambda: check_signals(lake)),
        ("retention", lambda: check_retention(lake, settings.lake.maintenance)),
        ("start", lambda: check_start(settings, lake)),
        ("sources", lambda: check_sources(settings.collector, settings.lake.storage.storage(), lake.root)),
        ("models", lambda: check_models(settings.evaluator)),
        ("judges", lambda: check_judges(settings.evaluator)),
        ("receivers", lambda: check_receivers(settings.monitor, lake)),
    )
    for subject, look in looks:
        yield from guarded(subject, look, "this check could not be made")


def line_of(finding: Finding) -> str:
    """Give a finding as a line: verdict, subject, what to know."""
    verdict, subject = _WIDTHS
    text = " ".join(finding.text.split())
    return f"{finding.verdict.value:<{verdict}}  {finding.subject:<{subject}}  {text}"
