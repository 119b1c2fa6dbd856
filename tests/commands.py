"""The command line, as a user types it, without a process of its own: half of a short command's time is its start."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

from dialwatch import cli


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@cache
def _command() -> Any:
    """All commands, which typer would build anew for each call."""
    return get_command(cli.app)


def dialwatch(*arguments: object, folder: Path | None = None, **environment: str) -> Done:
    """Run a command to its end in a folder; what it logs is pytest's, not part of `stderr`."""
    out, err, code, umask = io.StringIO(), io.StringIO(), 0, os.umask(0o022)
    with (
        mock.patch.object(cli, "app", _command()),
        mock.patch.object(sys, "argv", ["dialwatch", *map(str, arguments)]),
        # It is this process whose signals they would take.
        mock.patch("dialwatch.commands.services.end_by_signals"),
        mock.patch("dialwatch.commands.evaluate.end_by_signals"),
        mock.patch.dict(os.environ, {"COLUMNS": "140"} | environment),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        finally:
            os.umask(umask)
    return Done(code, out.getvalue(), err.getvalue())
