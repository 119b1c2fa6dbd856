"""The command line, as a user types it, without a process of its own: half of a short command's time is its start."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from dialwatch.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def dialwatch(*arguments: object, folder: Path | None = None, **environment: str) -> Done:
    """Run a command to its end in a folder; what it logs is pytest's, not part of `stderr`."""
    out, err, code, umask = io.StringIO(), io.StringIO(), 0, os.umask(0o022)
    with (
        mock.patch.object(sys, "argv", ["dialwatch", *map(str, arguments)]),
        mock.patch.dict(os.environ, {"COLUMNS": "140"} | environment),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        finally:
            os.umask(umask)
    return Done(code, out.getvalue(), err.getvalue())
