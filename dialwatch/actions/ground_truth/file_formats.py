"""Formats in which cases are exported and imported."""

from __future__ import annotations

from enum import StrEnum

import typer


class CaseFormat(StrEnum):
    """`parquet` for aidial-rag-eval, `csv` for DIAL's evaluation framework, `jsonl` with all columns of a case."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


NAME = "testCaseName"
"""Column of the evaluation framework that names a case; here its id."""


def format_of(path: str, given: CaseFormat | None) -> CaseFormat:
    """Give the format of a file, by its ending where none is given; raises BadParameter."""
    if given is not None:
        return given
    ending = path.rpartition(".")[2].lower()
    try:
        return CaseFormat(ending)
    except ValueError:
        names = ", ".join(CaseFormat)
        raise typer.BadParameter(f"{path!r} ends in none of {names}: give --format", param_hint="FILE") from None
