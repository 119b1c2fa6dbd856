"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import getpass
import os
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialwatch.errors import MISSING_LAKE, ConfigError
from dialwatch.serving.addresses import parse_address
from runtime.logs import Logs, configure_logs

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from lake.tables.lake import Lake
    from monitor.notify.settings import WebhookSettings

LakeOption = Annotated[
    str | None, typer.Option("--lake", help="Folder or URI of the lake, such as s3://bucket/prefix.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="dialwatch.yaml; without it the environment and flags count.")
]
EngineOption = Annotated[
    str | None, typer.Option("--engine", help="Where metrics are computed: local, or ray; evaluator.engine.")
]
OnlyDeploymentOption = Annotated[str | None, typer.Option(help="Only of this deployment, as DIAL names it.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Processes that compute metrics, or tasks of Ray at once; evaluator.workers.")
]

NO_LAKE = "."
"""Lake of a command that opens none, as the settings want one to be named."""

_UNPRINTABLE = ("Cc", "Cs")
"""Control characters, which a terminal may take as commands, and bytes that are no UTF-8."""


def settings_of(
    config: Path | None,
    lake: str | None,
    flags: Mapping[str, Any] | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> Settings:
    """Return the settings, with the lake that `--lake` names and other `flags`, by section; raises ConfigError.

    `prepare` is called before what reads them is imported, once it is known that there is a lake.
    """
    if not (config or lake or any(name.upper().startswith("DIALWATCH_LAKE") for name in os.environ)):
        raise ConfigError(f"the configuration cannot be used:\n  {MISSING_LAKE}")
    prepare()
    from dialwatch.config_file import logs_as_json
    from dialwatch.config_loading import load_settings

    try:
        settings = load_settings(config, ({"lake": {"root": lake}} if lake else {}) | dict(flags or {}))
    except ConfigError:
        if logs_as_json(config):
            configure_logs(Logs(format="json"))
        raise
    configure_logs(Logs(settings.log.level, settings.log.format))
    return settings


def open_filled(settings: Settings) -> Lake:
    """Open a lake that has tables; raises ConfigError for one without, which is a mistyped root."""
    from lake.maintenance.maintenance import all_tables

    opened = settings.lake.open()
    if next(all_tables(opened), None) is None:
        raise ConfigError(f"there is no table under {opened.root}: is that the lake's root?")
    return opened


def engine_settings(engine: str | None, workers: int | None) -> dict[str, Any]:
    """Return the settings for the values of `--engine` and `--workers`, none for what is not given."""
    given = {"engine": engine, "workers": workers}
    return {"evaluator": {name: value for name, value in given.items() if value is not None}}


def written_options(config: Path | None, lake: str | None) -> str:
    """Return `--config` and `--lake` as a shell reads them, for a command that goes on with the same lake."""
    given = (*(("-c", str(config)) if config else ()), *(("--lake", lake) if lake else ()))
    return "".join(f" {shlex.quote(word)}" for word in given)


def checked_address(listen: str | None) -> dict[str, Any]:
    """Return the setting for the value of `--listen`, none where there is none; raises AddressError."""
    if not listen:
        return {}
    parse_address(listen)
    return {"listen": listen}


def account() -> str | None:
    """Return the name of the account that runs this; a container may have none for its user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def metric_names(given: Sequence[str], otherwise: str) -> list[str]:
    """Return the names of every `--metrics`, each a list separated by commas, each name once and in their order.

    Raises BadParameter where there is none; `otherwise` says what else can be done.
    """
    names = [name.strip() for one in given for name in one.split(",")]
    if not any(names):
        raise typer.BadParameter(f"--metrics: name at least one, or {otherwise}")
    return list(dict.fromkeys(name for name in names if name))


def comment_of(text: str, option: str = "--comment") -> str:
    """Return what was typed for an option on one line; raises BadParameter."""
    comment = " ".join(text.split())
    _check_text(option, comment)
    return comment


def check_name(option: str, name: str | None, advice: str) -> None:
    """Raise BadParameter for a name that is empty, with what to do, or that a terminal must not be shown."""
    if name is not None and not name.strip():
        raise typer.BadParameter(f"it is empty: {advice}", param_hint=option)
    _check_text(option, name or "")


def receiver_of(url: str, secret_file: Path | None, prefix: str = "", **values: str) -> WebhookSettings:
    """Return the receiver of webhooks at an address, with the secret that a file holds.

    Raises OSError for the file, and ConfigError, whose message begins with `prefix`, for values that cannot be used.
    """
    from pydantic import SecretStr, ValidationError

    from monitor.notify.settings import WebhookSettings

    secret = {} if secret_file is None else {"secret": SecretStr(secret_file.read_text().strip())}
    try:
        return WebhookSettings.model_validate({"url": url} | secret | values)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "webhook"
        raise ConfigError(f"{prefix}{where}: {problem['msg'].removeprefix('Value error, ')}") from None


def _check_text(option: str, text: str) -> None:
    if any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        raise typer.BadParameter(f"{text!r} holds a control character: leave it out", param_hint=option)
