"""DIAL Core's log lines: from the bytes that a source delivers to rows.

`core_lines` finds the lines in what was delivered, `parse_line` makes a row, a signal or a rejection of each;
`parse_piece` does both. A rating that people did not give is just counted.
"""

from collector.parsing.answer.answer import Completion, read_completion
from collector.parsing.line.callers import ProjectOrigins
from collector.parsing.line.core_lines import core_lines
from collector.parsing.parse import Record, parse_line, parse_piece
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
    "core_lines",
    "parse_line",
    "parse_piece",
    "read_completion",
]
