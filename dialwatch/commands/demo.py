"""The command `dialwatch demo`: everything at work on a simulated day of traffic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def demo(
    once: Annotated[bool, typer.Option("--once", help="End when all is shown; exit code 0 if all worked.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Keep logs and lake in this new folder.")] = None,
) -> None:
    """Show it all at work, in one process: a day of traffic with a drop in quality planted in it."""
    from dialwatch.demo.run import run_demo

    sys.exit(run_demo(once=once, keep=keep))
