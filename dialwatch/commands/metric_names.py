"""Names of metrics, as `--metrics` takes them."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def metric_names(given: Sequence[str], otherwise: str) -> list[str]:
    """Give the names of every `--metrics`, each a list separated by commas, each name once and in their order.

    Raises BadParameter where there is none; `otherwise` says what else can be done.
    """
    names = [name.strip() for one in given for name in one.split(",")]
    if not any(names):
        raise typer.BadParameter(f"--metrics: name at least one, or {otherwise}")
    return list(dict.fromkeys(name for name in names if name))
