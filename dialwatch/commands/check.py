"""The command `dialwatch check`: whether an installation has what it needs."""

from __future__ import annotations

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of


def check(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Look whether the lake takes rows, and broker, topics, models, judges, receivers and clocks are as they must be.

    One line each. The exit code is 0 where all is well, 1 where something failed, 2 where the configuration cannot be
    used. No message is sent, no judge is paid, and no table is changed.
    """
    settings = settings_of(config, lake)
    from dialwatch.actions.checks.run import check_installation

    check_installation(settings)
