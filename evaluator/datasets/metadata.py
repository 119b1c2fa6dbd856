"""Metadata beside a table, as aidial-rag-eval 0.7.0 writes and reads it: sources and means."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Metadata(BaseModel):
    """What is known of a table: when and from what it was made, by which tools, its means and sizes.

    `file_info` is the file's name and size and no more: a path or an owner of the writer is nobody's business.
    `metrics` are means by column, without those that are NaN. Other keys are left out.
    """

    model_config = ConfigDict(frozen=True)

    created_at: datetime | None
    sources: tuple[Dataset, ...]
    tools: Mapping[str, str]
    file_info: Mapping[str, object] = {}
    metrics: Mapping[str, float | None] = {}
    statistics: Mapping[str, float] = {}


class Dataset(BaseModel):
    """A table's two paths or URIs, and what its metadata says."""

    model_config = ConfigDict(frozen=True)

    metadata_path: str
    data_path: str
    metadata: Metadata


UNKNOWN = Metadata(created_at=None, sources=(), tools={})
"""What is known of a table without metadata."""
