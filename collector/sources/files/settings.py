"""Settings of the files source."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from lake.tables.storage import check_scheme
from runtime.setting import COMMON, Section


class FilesSettings(Section):
    """Log files to read: paths, folders and globs, local or on an S3-like store, plain or gzip."""

    paths: Annotated[list[str], COMMON] = Field(min_length=1)
    """List of files, folders and globs, local or `s3://`. In a folder, or below the fixed part of a glob, symbolic
    links are followed only if they stay inside it, and never into the lake. The log names the others. A file or
    folder whose name holds `*`, `?` or `[` is named by that name."""
    poll_seconds: float = Field(default=5.0, gt=0)
    """Seconds between two looks at the files."""

    @field_validator("paths")
    @classmethod
    def _can_be_read(cls, paths: list[str]) -> list[str]:
        for path in paths:
            if not path.strip():
                raise ValueError("a path is empty: name a file, a folder or a glob (`.` is the current folder)")
            check_scheme(path)
        return paths
