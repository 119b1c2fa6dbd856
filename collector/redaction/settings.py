"""Settings of redaction."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

import re2
from pydantic import Field, SecretStr, field_validator, model_validator

from runtime.setting import COMMON, Section, Setting

PatternName = Literal["email", "phone", "iban", "payment_card", "ip", "secret"]
PATTERN_NAMES: tuple[str, ...] = get_args(PatternName)
"""Names of the built-in patterns."""

_SHORTEST_KEY = 16
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ASKS_THE_NETWORK = frozenset({"EMAIL_ADDRESS", "URL"})


class PresidioSettings(Section):
    """Names, places and the like, as Microsoft Presidio finds them; needs the extra `redaction`."""

    model: str
    """Name or folder of an installed spaCy pipeline; it is never downloaded."""
    language: str = "en"
    """Language of that pipeline."""
    entities: list[str] = Field(min_length=1)
    """What Presidio looks for, such as `[PERSON, LOCATION]`."""
    threshold: float = Field(default=0.5, ge=0, le=1)
    """Lowest score of a finding that is removed, 0 to 1."""

    @field_validator("entities")
    @classmethod
    def _stay_on_the_machine(cls, entities: list[str]) -> list[str]:
        remote = sorted(_ASKS_THE_NETWORK.intersection(entities))
        if remote:
            raise ValueError(f"Presidio asks the network to find {', '.join(remote)}; for e-mail use the pattern email")
        return entities


class RedactionSettings(Section):
    """Data that is removed from every row before it is written; nothing by default.

    Patterns are RE2's, so that none can take more than linear time. `key` makes the pseudonyms that take the place of
    what was found in an id: the same text gives the same pseudonym, and without the key nobody can find the id, also
    not by trying all ids. With another key every person gets a new pseudonym.
    """

    patterns: Annotated[list[PatternName], COMMON] = Field(default_factory=list)
    """What is removed before anything is written, see [redaction.md](redaction.md)."""
    own: dict[str, str] = Field(default_factory=dict)
    """Patterns of yours: name and regular expression (RE2)."""
    presidio: PresidioSettings | None = None
    key: Annotated[SecretStr | None, Setting(common=True, default="must be given for redaction")] = None
    """Random text from which the pseudonyms of ids are made."""

    @property
    def enabled(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.patterns or self.own or self.presidio)

    @field_validator("own")
    @classmethod
    def _can_be_searched_for(cls, own: dict[str, str]) -> dict[str, str]:
        for name, pattern in own.items():
            if not _NAME.fullmatch(name) or name in PATTERN_NAMES:
                raise ValueError(
                    f"an own pattern cannot be called {name!r}: take lower-case letters, digits and _, and none of "
                    f"{', '.join(PATTERN_NAMES)}"
                )
            try:
                compiled = re2.compile(pattern, compile_options())
            except re2.error as error:
                reason = error.args[0].decode(errors="replace") if error.args else "refused"
                raise ValueError(
                    f"the pattern {name} is no regular expression of RE2: {reason}; RE2 has no look-around and no "
                    "back-references, see https://github.com/google/re2/wiki/Syntax"
                ) from None
            if compiled.search("") is not None:
                raise ValueError(f"the pattern {name} matches the empty text, and so everywhere: make it match more")
        return own

    @model_validator(mode="after")
    def _has_a_key(self) -> RedactionSettings:
        if self.enabled and (self.key is None or len(self.key.get_secret_value()) < _SHORTEST_KEY):
            raise ValueError(
                f"redaction needs a key of {_SHORTEST_KEY} characters or more, from which it makes pseudonyms of ids: "
                "set DIALWATCH_COLLECTOR__REDACTION__KEY to a random text and keep it"
            )
        return self


def compile_options() -> re2.Options:
    """Options for every pattern: quiet, with room for many patterns in one automaton."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return options
