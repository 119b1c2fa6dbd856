"""The command `dialwatch up`: all services in one process."""

from __future__ import annotations

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of


def up(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Run collector, evaluator and monitor in one process."""
    settings = settings_of(config, lake)
    from dialwatch.services import running

    with running.all_services(settings):
        running.wait_for_signal()
