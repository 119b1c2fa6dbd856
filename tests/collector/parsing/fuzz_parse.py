"""An atheris target: bytes to entries to rows, of which none may fail.

python -m tests.collector.parsing.fuzz_parse SEEDS_FOLDER -max_total_time=180
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["collector.parsing"]):
    from collector.parsing import Rejection, core_lines, parse_line, parse_piece


def one_input(data: bytes) -> None:
    """Fail where an exception leaves the parser, or where it says that it failed on a line."""
    records = parse_piece(data)
    entries = _split(data)
    if len(records) != len(entries):
        raise AssertionError(f"{len(entries)} entries became {len(records)} records")
    for record in [*records, *(parse_line(entry, keep_raw_response=True) for entry in entries)]:
        if isinstance(record, Rejection) and record.reason == "parser_failure":
            raise AssertionError(record.message)


def _split(data: bytes) -> list[bytes]:
    """Split from as deep in the stack as `parse_piece` does: Python's decoder gives up where that is full."""
    return core_lines(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
