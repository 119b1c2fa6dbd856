"""Settings of the files source."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lake.tables.storage import check_scheme


class FilesSettings(BaseModel):
    """Log files to read: paths, folders and globs, local or on an S3-like store, plain or gzip."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paths: list[str] = Field(min_length=1)
    poll_seconds: float = Field(default=5.0, gt=0)

    @field_validator("paths")
    @classmethod
    def _can_be_read(cls, paths: list[str]) -> list[str]:
        for path in paths:
            check_scheme(path)
        return paths
