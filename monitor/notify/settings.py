"""Settings of the receivers of alerts."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Literal, Self

from annotated_types import MinLen
from pydantic import AnyHttpUrl, ConfigDict, SecretStr, field_validator, model_validator

from runtime.setting import COMMON, Section, Setting

_PREFIX = "whsec_"
_LEAST_BYTES = 24
_CLASS = re.compile(r"\[!?\]?[^]]*\]")
_ADVICE = (
    "make one with: python -c 'import base64, secrets; "
    'print("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())\''
)


class WebhookSettings(Section):
    """One receiver of webhooks, signed as the Standard Webhooks specification says."""

    model_config = ConfigDict(hide_input_in_errors=True)

    name: Annotated[str, MinLen(1)] = "webhook"
    """Name of the receiver in the `alerts` table; under a new name alerts that are open, or ended
    within the last day, are sent again."""
    url: Annotated[AnyHttpUrl, Setting(common=True, from_file=True)]
    """Address of the receiver; or `url_file`, a file that holds it: the addresses of Slack and Teams are secrets."""
    format: Annotated[Literal["standard", "slack", "teams", "alertmanager"], COMMON] = "standard"
    """`standard` (our JSON, signed), `slack`, `teams`, or `alertmanager`, see [alerts.md](alerts.md#receivers)."""
    deployments: Annotated[tuple[str, ...], MinLen(1), COMMON] = ("*",)
    """Globs of the deployments whose alerts the receiver gets, see [alerts.md](alerts.md#receivers-of-teams)."""
    texts: bool = False
    """Whether messages say what users wrote: newest comments, and words of the worst answers, see
    [alerts.md](alerts.md#in-the-users-words). Whoever reads the channel may read them."""
    secret: Annotated[SecretStr | None, Setting(common=True, default="must be given for `standard`")] = None
    """`whsec_` and the base64 of at least 24 random bytes; the receiver has the same secret. While it is being
    replaced, the new one and the old one, on two lines: both sign."""

    @field_validator("deployments")
    @classmethod
    def _are_globs(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        for glob in globs:
            if not glob or glob != glob.strip():
                raise ValueError(f"{glob!r} matches no deployment: give names or globs such as hr-*, without blanks")
            if "[" in _CLASS.sub("", glob):
                raise ValueError(f"{glob!r} has a [ without its ]: write [[] for the character [ itself")
        return globs

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


def _check_secret(text: str) -> None:
    if not text.startswith(_PREFIX):
        raise ValueError(f"a webhook secret begins with {_PREFIX}; {_ADVICE}")
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"a webhook secret is base64 after {_PREFIX}; {_ADVICE}") from error
    if len(key) < _LEAST_BYTES:
        raise ValueError(f"a webhook secret has at least {_LEAST_BYTES} bytes, this one has {len(key)}; {_ADVICE}")
