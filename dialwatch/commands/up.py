"""The command `dialwatch up`: all services in one process."""

from __future__ import annotations

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of
from dialwatch.services import running


def up(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Run collector, evaluator and monitor in one process."""
    with running.all_services(settings_of(config, lake)):
        running.wait_for_signal()
