"""All checks of an installation, one line each."""

from __future__ import annotations

import typer

from dialwatch.actions.checks.evaluator_checks import check_judges, check_models
from dialwatch.actions.checks.finding import Finding, Verdict, guarded
from dialwatch.actions.checks.lake_checks import check_lake
from dialwatch.actions.checks.receiver_checks import check_receivers
from dialwatch.actions.checks.source_checks import check_sources
from dialwatch.config import Settings

_WIDTHS = (max(map(len, Verdict)), len("receivers"))


def check_installation(settings: Settings) -> None:
    """Print what each check finds; raises Exit with code 1 where one failed."""
    lake = settings.lake.open()
    evaluator, monitor = settings.evaluator, settings.monitor
    looks = (
        ("lake", lambda: check_lake(lake)),
        ("sources", lambda: check_sources(settings.collector, settings.lake.storage.storage())),
        ("models", lambda: check_models(evaluator)),
        ("judges", lambda: check_judges(evaluator)),
        ("receivers", lambda: check_receivers(monitor)),
    )
    verdicts = []
    for subject, look in looks:
        for finding in guarded(subject, look, "this check could not be made"):
            _print(finding)
            verdicts.append(finding.verdict)
    if Verdict.FAILED in verdicts:
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    verdict, subject = _WIDTHS
    text = " ".join(finding.text.split())
    typer.echo(f"{finding.verdict.value:<{verdict}}  {finding.subject:<{subject}}  {text}")
