"""Settings of the receivers of alerts."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Literal, Self

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, AnyHttpUrl, ConfigDict, SecretStr, field_validator, model_validator

from runtime.setting import COMMON, Section, Setting

_PREFIX = "whsec_"
_LEAST_BYTES = 24
_CLASS = re.compile(r"\[!?\]?[^]]*\]")
# Nothing that has a meaning of its own in a header of a mail, and no letter that needs SMTPUTF8.
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\\\"@\x00-\x1f\x7f-\U0010ffff]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_ADVICE = (
    "make one with: python -c 'import base64, secrets; "
    'print("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())\''
)


class ReceiverSettings(Section):
    """What every receiver has: its name, and the deployments that it is for."""

    model_config = ConfigDict(hide_input_in_errors=True)

    name: Annotated[str, MinLen(1)]
    """Name of the receiver in the `alerts` table; under a new name alerts that are open, or ended
    within the last day, are sent again."""
    deployments: Annotated[tuple[str, ...], MinLen(1), COMMON] = ("*",)
    """Globs of the deployments whose alerts the receiver gets, see [alerts.md](alerts.md#receivers-of-teams)."""
    texts: bool = False
    """Whether messages say what users wrote, newest comments and words of the worst answers, and a failing tool's last
    error, see [alerts.md](alerts.md#in-the-users-words). Whoever reads the channel may read them."""

    @field_validator("deployments")
    @classmethod
    def _are_globs(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        for glob in globs:
            if not glob or glob != glob.strip():
                raise ValueError(f"{glob!r} matches no deployment: give names or globs such as hr-*, without blanks")
            if "[" in _CLASS.sub("", glob):
                raise ValueError(f"{glob!r} has a [ without its ]: write [[] for the character [ itself")
        return globs


class WebhookSettings(ReceiverSettings):
    """One receiver of webhooks, signed as the Standard Webhooks specification says."""

    name: Annotated[str, MinLen(1)] = "webhook"
    """Name of the receiver in the `alerts` table; under a new name alerts that are open, or ended
    within the last day, are sent again."""
    url: Annotated[AnyHttpUrl, Setting(common=True, from_file=True)]
    """Address of the receiver; or `url_file`, a file that holds it: the addresses of Slack and Teams are secrets."""
    format: Annotated[Literal["standard", "slack", "teams", "alertmanager"], COMMON] = "standard"
    """`standard` (our JSON, signed), `slack`, `teams`, or `alertmanager`, see [alerts.md](alerts.md#receivers)."""
    secret: Annotated[SecretStr | None, Setting(common=True, default="must be given for `standard`")] = None
    """`whsec_` and the base64 of at least 24 random bytes; the receiver has the same secret. While it is being
    replaced, the new one and the old one, on two lines: both sign."""

    @field_validator("secret")
    @classmethod
    def _holds_secrets(cls, secret: SecretStr | None) -> SecretStr | None:
        for text in [] if secret is None else secret.get_secret_value().splitlines() or [""]:
            _check_secret(text.strip())
        return secret

    @model_validator(mode="after")
    def _can_be_verified(self) -> Self:
        if self.format == "standard" and self.secret is None:
            raise ValueError(f"webhook {self.name!r} has no secret to sign with; {_ADVICE}")
        if self.texts and self.format == "alertmanager":
            raise ValueError(
                f"webhook {self.name!r}: an Alertmanager gets no texts; give `texts` to a chat or a program"
            )
        return self


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is no address of mail: write it as team@example.com, without a name")
    return text


Address = Annotated[str, AfterValidator(_address)]


class MailReceiverSettings(ReceiverSettings):
    """One receiver of mail."""

    name: Annotated[str, MinLen(1)] = "mail"
    """Name of the receiver in the `alerts` table, another one than those of all other receivers."""
    to: Annotated[tuple[Address, ...], MinLen(1), MaxLen(50)]
    """Addresses that get each message, all in one mail."""


class MailSettings(Section):
    """The SMTP server that takes the mail, and who gets it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    server: Annotated[str, MinLen(1)]
    """Host name of the SMTP server; one in your own network must be in `monitor.internal_hosts`."""
    port: Annotated[int | None, Ge(1), Le(65535), Setting(default="587; with `tls` 465, with `none` 25")] = None
    """Its port."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """`starttls`: encrypted after a first greeting; `tls`: from the first byte; `none`: never, which takes no log-in
    and a server that `monitor.internal_hosts` names."""
    user: str | None = None
    """Name of the log-in; none for a server that wants no log-in."""
    password: SecretStr | None = None
    """Its password."""
    sender: Address
    """Address that the mail is from."""
    receivers: Annotated[tuple[MailReceiverSettings, ...], MinLen(1)]

    @property
    def port_number(self) -> int:
        """The port, that of the kind of encryption where none is given."""
        return self.port or _PORTS[self.security]

    @model_validator(mode="after")
    def _logs_in_safely(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("monitor.mail has a user without a password, or one without the other: give both or none")
        if self.user is not None and self.security == "none":
            raise ValueError("monitor.mail would send its password unencrypted: set security to starttls or tls")
        return self


def _check_secret(text: str) -> None:
    if not text.startswith(_PREFIX):
        raise ValueError(f"a webhook secret begins with {_PREFIX}; {_ADVICE}")
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"a webhook secret is base64 after {_PREFIX}; {_ADVICE}") from error
    if len(key) < _LEAST_BYTES:
        raise ValueError(f"a webhook secret has at least {_LEAST_BYTES} bytes, this one has {len(key)}; {_ADVICE}")
