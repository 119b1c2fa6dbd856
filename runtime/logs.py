"""Log of a process on stderr: a line a record for people, or a JSON object a record for programs.

Only the standard library is imported, also by what this imports: commands set up their log before they load anything.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from types import TracebackType
from typing import Any, Literal

from runtime.outage_lines import OUTAGE, OutageLines

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]

_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message", OUTAGE}
"""Attributes of every record, and of uvicorn's; all others are fields that were given with `extra`."""
_QUIET = {
    # A line for each request would hide what matters.
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "aiobotocore": logging.WARNING,
    "botocore": logging.WARNING,
    # A pass that is not begun while the one before still runs is no news.
    "apscheduler": logging.ERROR,
    # It repeats itself ten times a second; the collector says once what is wrong with Kafka, and when it is over.
    "kafka": logging.CRITICAL,
}


@dataclass(frozen=True)
class Logs:
    """How much a process logs, and in which form."""

    level: LogLevel = "info"
    format: LogFormat = "text"


_chosen = Logs()


def chosen_logs() -> Logs:
    """Return how this process logs, for those that it starts."""
    return _chosen


def configure_logs(logs: Logs) -> None:
    """Log to stderr as `logs` says from now on; a handler that somebody else has set up stays what it is."""
    global _chosen
    _chosen = logs
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)
    root = logging.getLogger()
    if any(not isinstance(handler, _Handler) for handler in root.handlers):
        return
    root.handlers = [_Handler(sys.stderr)]
    root.handlers[0].addFilter(OutageLines())
    root.handlers[0].setFormatter(JsonFormatter() if logs.format == "json" else TextFormatter(_TEXT))
    root.setLevel(logs.level.upper())
    if logs.format == "json":
        # A traceback on many lines would be many records to those who read a record a line.
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda args: _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)
        logging.captureWarnings(True)


class _Handler(logging.StreamHandler[Any]):
    pass


class TextFormatter(logging.Formatter):
    """A line a record, with a traceback below where nobody expected the error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        return super().format(_plain_record(record))


class JsonFormatter(logging.Formatter):
    """A JSON object a record, on one line: `time` (UTC), `level`, `logger`, `message`, its fields, and `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        record = _plain_record(record)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        shown: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        shown |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD | shown.keys()}
        if record.exc_info and record.exc_info[0] is not None:
            shown["traceback"] = self.formatException(record.exc_info)
        # Halves of characters, which stand for bytes of names that are no UTF-8, are no text in JSON.
        return json.dumps(shown, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()


class _Quoted(str):
    """Text that `%r` shows between double quotes, as JSON does, and not as Python does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return json.dumps(str(self), ensure_ascii=False)


class _Word(int):
    """A truth value that is shown as a word, and that `%d` still takes."""

    def __repr__(self) -> str:
        return "true" if self else "false"

    __str__ = __repr__


def _plain_record(record: logging.LogRecord) -> logging.LogRecord:
    """Return a copy of the record whose arguments are shown as no Python program would write them."""
    copy = logging.makeLogRecord(record.__dict__)
    if isinstance(record.args, Mapping) and "%(" in str(record.msg):
        copy.args = {name: _plain(value) for name, value in record.args.items()}
    else:
        # A mapping that is the only argument is put here without its tuple.
        args = (record.args,) if isinstance(record.args, Mapping) else record.args or ()
        copy.args = tuple(map(_plain, args))
    return copy


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None:
        return _Quoted("none")
    if isinstance(value, bool):
        return _Word(value)
    if isinstance(value, str):
        return _Quoted(value)
    if isinstance(value, Mapping):
        return _Quoted(", ".join(f"{_plain(key)}: {_plain(item)}" for key, item in value.items()))
    if is_dataclass(value) and not isinstance(value, type | BaseException) and type(value).__str__ is object.__str__:
        return _Quoted(", ".join(f"{one.name} {_plain(getattr(value, one.name))}" for one in fields(value)))
    if isinstance(value, Set):
        return _Quoted(", ".join(sorted(str(_plain(item)) for item in value)))
    if isinstance(value, list | tuple):
        return _Quoted(", ".join(str(_plain(item)) for item in value))
    return value


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if error is not None and not issubclass(kind, KeyboardInterrupt | SystemExit):
        logging.getLogger("dialwatch").critical(
            "an error that nobody expected ended this: please report it", exc_info=(kind, error, trace)
        )
