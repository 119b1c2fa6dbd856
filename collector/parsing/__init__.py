"""DIAL Core's log lines: from the bytes that a source delivers to rows.

`split_entries` finds the lines in what was delivered, `parse_entry` makes a row, a signal or a rejection of each;
`parse_piece` does both. A rating that people did not give is just counted.
"""

from collector.parsing.answer.answer import Completion, read_completion
from collector.parsing.line.entries import split_entries
from collector.parsing.line.origins import ProjectOrigins
from collector.parsing.parse import Record, parse_entry, parse_piece
from collector.parsing.records import REASONS, Filtered, LogRecord, Rejection, SignalRecord

__all__ = [
    "REASONS",
    "Completion",
    "Filtered",
    "LogRecord",
    "ProjectOrigins",
    "Record",
    "Rejection",
    "SignalRecord",
    "parse_entry",
    "parse_piece",
    "read_completion",
    "split_entries",
]
