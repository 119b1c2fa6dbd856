"""The command `dialwatch check`: whether an installation has what it needs, one line a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from dialwatch.commands.check.finding import Finding, Verdict, guarded
from dialwatch.commands.options import ConfigOption, LakeOption, settings_of

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from lake.tables.lake import Lake

_WIDTHS = (max(map(len, Verdict)), len("receivers"))


def check(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Look whether the lake takes rows, and broker, topics, models, judges, receivers and clocks are as they must be.

    One line each. The exit code is 0 where all is well, 1 where something failed, 2 where the configuration cannot be
    used. No message is sent, no judge is paid, and no table is changed.
    """
    settings, verdicts = settings_of(config, lake), []
    for finding in findings_of(settings, settings.lake.open()):
        typer.echo(line_of(finding))
        verdicts.append(finding.verdict)
    if Verdict.FAILED in verdicts:
        raise typer.Exit(1)


def findings_of(settings: Settings, lake: Lake) -> Iterator[Finding]:
    """Yield what each check finds, one after the other."""
    from dialwatch.commands.check.lake_checks import (
        check_classes,
        check_lake,
        check_limits,
        check_retention,
        check_signals,
    )
    from dialwatch.commands.check.part_checks import check_judges, check_models, check_receivers, check_sources
    from dialwatch.commands.check.start_checks import check_start

    looks: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        ("lake", lambda: check_lake(lake)),
        ("signals", lambda: check_signals(lake)),
        ("limits", lambda: check_limits(lake, settings.monitor.limits)),
        ("retention", lambda: check_retention(lake, settings.lake.maintenance)),
        ("metrics", lambda: check_classes(lake)),
        ("start", lambda: check_start(settings, lake)),
        ("sources", lambda: check_sources(settings.collector, settings.lake.storage.storage(), lake.root)),
        ("models", lambda: check_models(settings.evaluator)),
        ("judges", lambda: check_judges(settings.evaluator)),
        ("receivers", lambda: check_receivers(settings.monitor, lake)),
    )
    for subject, look in looks:
        yield from guarded(subject, look, "this check could not be made")


def line_of(finding: Finding) -> str:
    """Return a finding as a line: verdict, subject, what to know."""
    verdict, subject = _WIDTHS
    text = " ".join(finding.text.split())
    return f"{finding.verdict.value:<{verdict}}  {finding.subject:<{subject}}  {text}"
