"""Commands that do what the forms of an incident do, ready to be pasted into a shell."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime

from runtime.unseen_characters import visible

_USUAL_LENGTH = ("--for", "4h")


@dataclass(frozen=True)
class Commands:
    """A command for each form; None where a name holds characters that no command takes."""

    acknowledge: str | None
    silence: str | None
    release: str | None


def commands_of(incident_id: str, deployment: str, metric: str | None, onset: datetime | None) -> Commands:
    """Return the commands; `metric` is None for all metrics of the deployment, `onset` for a release now."""
    of_metric = ("--metric", metric) if metric else ()
    at = ("--at", f"{onset.astimezone(UTC):%Y-%m-%dT%H:%MZ}") if onset else ()
    of_deployment = ("--deployment", deployment, *of_metric)
    return Commands(
        _command("incidents", "acknowledge", incident_id, "--comment", "..."),
        silence_command(deployment, metric, _USUAL_LENGTH),
        _command("release", "mark", *of_deployment, *at, "--comment", "..."),
    )


def silence_command(deployment: str, metric: str | None, length: tuple[str, str]) -> str | None:
    """Return the command for a silence; `metric` is None for the whole deployment, `length` an option and its value."""
    of_metric = ("--metric", metric) if metric else ()
    of_deployment = ("--deployment", deployment, *of_metric)
    return _command("silence", "add", *of_deployment, *length, "--comment", "...")


def metric_option(metric: str) -> str | None:
    """Return the option that names one metric, for a shell; None where its name holds characters that none takes."""
    return _joined("--metric", metric)


def _command(*words: str) -> str | None:
    joined = _joined(*words)
    return None if joined is None else f"dialwatch {joined} -c dialwatch.yaml"


def _joined(*words: str) -> str | None:
    # The commands refuse such names, and what a person would copy from the page is not the name.
    if any(visible(word) != word or "\n" in word for word in words):
        return None
    # An option's value that begins like an option is joined to its name.
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("--") and "=" not in parts[-1] and word.startswith("-"):
            parts[-1] += f"={word}"
        else:
            parts.append(word)
    return shlex.join(parts)
