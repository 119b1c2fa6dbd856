"""Errors of a store that is away, full, or refuses, and how they are logged in one line."""

from __future__ import annotations

import copyreg
import logging
import re
from collections.abc import Mapping
from typing import Any

from deltalake import exceptions
from deltalake.exceptions import DeltaError

from runtime.outage_lines import OUTAGE

TableError = DeltaError
"""The errors of deltalake: of a table, or of a store that does not answer or refuses."""

_HEAD, _TAIL = 250, 150
_OF_S3_CLIENTS = frozenset({"botocore", "aiobotocore", "aiohttp"})
"""Packages whose errors s3fs lets through; by name, as their import takes long."""
_OUTAGES = {
    "store is away": re.compile(
        r"connect|time[d ]*-?out|dispatch failure|error sending request|could not resolve|name resolution|"
        r"\b50[0-4]\b|SlowDown|ServiceUnavailable|no route to",
        re.IGNORECASE,
    ),
    "store is full": re.compile(r"no space left|quota exceeded", re.IGNORECASE),
}
"""What is wrong with a whole store, whichever part and library meets it, by words of the error."""
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
"""deltalake writes for a terminal."""


def is_store_error(error: BaseException) -> bool:
    """Whether an error comes from the store or the way to it: from files, networks, deltalake or an S3 client."""
    if isinstance(error, OSError | TableError):
        return True
    return any(kind.__module__.partition(".")[0] in _OF_S3_CLIENTS for kind in type(error).__mro__)


def in_one_line(error: BaseException) -> str:
    """Return the kind of an error and its text, without line breaks; of a long one its beginning and its end."""
    text = " ".join(_COLOURS.sub("", str(error)).split())
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]} ... {text[-_TAIL:]}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def outage_of(error: BaseException) -> dict[str, object]:
    """Return the field of a record of this error by which what fails for one reason is one line a minute."""
    text = in_one_line(error)
    return next(({OUTAGE: name} for name, words in _OUTAGES.items() if words.search(text)), {})


def without_rows(error: BaseException) -> str:
    """Return kind and text of a store's error; of any other, whose text may quote rows, the kind alone."""
    return in_one_line(error) if is_store_error(error) else f"{type(error).__name__}; the log of this part says more"


def log_failure(
    logger: logging.Logger,
    error: BaseException,
    message: str,
    *values: object,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log an error of the store as one line, any other with its traceback."""
    if is_store_error(error):
        logger.error(f"{message}: %s", *values, in_one_line(error), extra=outage_of(error) | dict(extra or {}))
    else:
        logger.error(message, *values, exc_info=error, extra=extra)


def _delta_error(name: str, arguments: tuple[Any, ...]) -> Exception:
    error: Exception = getattr(exceptions, name)(*arguments)
    return error


def _reduced(error: Exception) -> tuple[Any, ...]:
    return _delta_error, (type(error).__name__, error.args), error.__dict__


# They name a module that cannot be imported, so pickle needs help to send them from a worker process.
_kinds: list[type[Exception]] = [DeltaError, *DeltaError.__subclasses__()]
for _kind in _kinds:
    copyreg.pickle(_kind, _reduced)
