"""Images among the files of DIAL, read through Core."""

from __future__ import annotations

import base64
import binascii
import http.client
import io
import logging
import socket
import urllib.error
import urllib.parse
import urllib.request
from time import monotonic
from typing import Annotated, Any

from pydantic import Field, SecretStr

from runtime.setting import Section

logger = logging.getLogger(__name__)

MOST_BYTES = 5 * 2**20
"""Of an image; most endpoints of judges take no more."""

_WAIT_SECONDS, _LONGEST_SECONDS = 20.0, 60.0
"""For the next bytes of an answer, and for all of it."""
_MOST_FAILURES = 3
_PAUSE_SECONDS = 300.0
"""So long a file that failed is not asked for, and none at all after so many files that failed in a row."""
_MOST_CHARACTERS = MOST_BYTES * 4 // 3 + 100
_MAY_COME = frozenset({401, 408, 425, 429})
"""Refusals that another key or another time ends; so does every status from 500 on."""
_LONGEST_NAME, _MOST_DECODED = 2_000, 5
"""Of the name of a file: characters, and times that it may be percent-encoded."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


class ImageSettings(Section):
    """Where images of questions are read that stand in the log by the address of their file alone."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """Address of DIAL Core, from which [images](judges.md#images) of questions (`files/...`) are read for judges with
    `images`. Without it only images that stand in the request are shown."""
    api_key: SecretStr | None = None
    """The key of DIAL with which they are read."""


class CoreUnavailableError(OSError):
    """Core gives no file now, and may give it later."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none: the key is for Core alone."""


class _LimitedReads(io.RawIOBase):
    """Reads of a socket until a time (monotonic seconds), however slowly its bytes come."""

    def __init__(self, sock: socket.socket, ends_at: float) -> None:
        self._sock, self._ends_at = sock, ends_at
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends_at - monotonic()
        if left <= 0:
            raise TimeoutError("the whole answer took too long")
        self._sock.settimeout(min(left, _WAIT_SECONDS))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _LimitedAnswer(http.client.HTTPResponse):
    """An answer of which nothing is read after a minute, of its head neither."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp.close()
        self.fp = io.BufferedReader(_LimitedReads(sock, monotonic() + _LONGEST_SECONDS))


class _PlainConnection(http.client.HTTPConnection):
    response_class = _LimitedAnswer


class _TLSConnection(http.client.HTTPSConnection):
    response_class = _LimitedAnswer


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PlainConnection, request)


class _TLSHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TLSConnection, request)


class CoreFiles:
    """Reads files that are images, of the configured Core alone: no other host is asked, and no redirect followed."""

    def __init__(self, settings: ImageSettings) -> None:
        self._settings = settings
        self._opener = urllib.request.build_opener(_NoRedirect, _PlainHandler, _TLSHandler)
        self._failing: dict[str, float] = {}
        self._in_a_row: set[str] = set()
        self._asked_again = 0.0

    def read(self, name: str) -> str | None:
        """Return the data URL of an image `files/...`; None where it is none, is too large, or may not be read.

        Raises CoreUnavailableError where Core may give it later. Such a file is not asked for again for five minutes,
        and after three of them in a row none is.
        """
        if self._settings.base_url is None or not _is_inside(name):
            return None
        now = monotonic()
        if now < max(self._asked_again, self._failing.get(name, 0.0)):
            raise CoreUnavailableError("DIAL Core failed a short time ago")
        try:
            found = self._read(name, self._settings.base_url.rstrip("/"))
        except CoreUnavailableError as error:
            until = monotonic() + _PAUSE_SECONDS
            self._failing = {one: end for one, end in self._failing.items() if now < end} | {name: until}
            self._in_a_row.add(name)
            if len(self._in_a_row) >= _MOST_FAILURES:
                self._asked_again = until
            text = "an image cannot be read from evaluator.images.base_url (%s): scores that need it are pending"
            logger.warning(text, error)
            raise
        self._in_a_row.clear()
        return found

    def _read(self, name: str, base: str) -> str | None:
        key = self._settings.api_key
        headers = {} if key is None else {"Api-Key": key.get_secret_value()}
        address = f"{base}/v1/{urllib.parse.quote(name, safe='/%', errors='replace')}"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - of the settings, http or https
        try:
            with self._opener.open(request, timeout=_WAIT_SECONDS) as response:
                return data_url(response.read(MOST_BYTES + 1))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _MAY_COME or error.code >= 500:
                raise CoreUnavailableError(f"HTTP {error.code}") from None
            return None
        except (OSError, http.client.HTTPException) as error:
            raise CoreUnavailableError(type(error).__name__) from None


def is_image_file(name: str) -> bool:
    """Whether a document is a file of DIAL whose name says that it is an image, and no way out of `files/`."""
    return _is_inside(name) and _plain(name).lower().endswith(_ENDINGS)


def _is_inside(name: str) -> bool:
    if len(name) > _LONGEST_NAME:
        return False
    plain = _plain(name)
    is_inside = not any(part in ("", ".", "..") for part in plain.split("/")) and plain.isprintable()
    return name.startswith("files/") and is_inside and not any(mark in plain for mark in "\\?#")


def _plain(name: str) -> str:
    """Return a name without its percent-encoding, also of a name that was encoded twice: who serves it may decode both.

    Empty for one that is encoded more often than anybody does.
    """
    for _ in range(_MOST_DECODED):
        if (plain := urllib.parse.unquote(name)) == name:
            return name
        name = plain
    return ""


def checked_data_url(url: str) -> str | None:
    """Return the data URL of an image in base64; None where it is none that judges read, or too large."""
    head, _, data = url.partition(",")
    if len(url) > _MOST_CHARACTERS or not head.lower().endswith(";base64"):
        return None
    try:
        return data_url(base64.b64decode("".join(data.split()), validate=True))
    except (binascii.Error, ValueError):
        return None


def data_url(content: bytes) -> str | None:
    """Return bytes as a data URL; None where they are no image that judges read, or too large."""
    kind = next((kind for beginning, kind in _BEGINNINGS.items() if content.startswith(beginning)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "webp"
    if kind is None or len(content) > MOST_BYTES:
        return None
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
