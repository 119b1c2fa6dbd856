"""Images among the files of DIAL, read through Core."""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.parse
import urllib.request
from typing import Annotated, Any

from pydantic import Field, SecretStr

from runtime.setting import Section

MOST_BYTES = 5 * 2**20
"""Of an image; most endpoints of judges take no more."""

_TIMEOUT_SECONDS = 20.0
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


class ImageSettings(Section):
    """Where images of questions are read that stand in the log by the address of their file alone."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """Address of DIAL Core, from which [images](judges.md#images) of questions (`files/...`) are read for judges with
    `images`. Without it only images that stand in the request are shown."""
    api_key: SecretStr | None = None
    """The key of DIAL with which they are read."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none: the key is for Core alone."""


class CoreFiles:
    """Reads files that are images, of the configured Core alone: no other host is asked, and no redirect followed."""

    def __init__(self, settings: ImageSettings) -> None:
        self._settings = settings
        self._opener = urllib.request.build_opener(_NoRedirect)

    def image(self, name: str) -> str | None:
        """Return the data URL of an image `files/...`; None where it is none, is too large, or cannot be read."""
        if self._settings.base_url is None or not is_image_file(name):
            return None
        base = self._settings.base_url.rstrip("/")
        key = self._settings.api_key
        headers = {} if key is None else {"Api-Key": key.get_secret_value()}
        address = f"{base}/v1/{urllib.parse.quote(name, safe='/%')}"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - of the settings, http or https
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return data_url(response.read(MOST_BYTES + 1))
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
            return None


def is_image_file(name: str) -> bool:
    """Whether a document is a file of DIAL whose name says that it is an image, and no way out of `files/`."""
    plain = urllib.parse.unquote(name)
    is_inside = not any(part in ("", ".", "..") for part in plain.split("/")) and plain.isprintable()
    has_mark = any(mark in plain for mark in "\\?#")
    return name.startswith("files/") and is_inside and not has_mark and plain.lower().endswith(_ENDINGS)


def data_url(content: bytes) -> str | None:
    """Return bytes as a data URL; None where they are no image that judges read, or too large."""
    kind = next((kind for beginning, kind in _BEGINNINGS.items() if content.startswith(beginning)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "webp"
    if kind is None or len(content) > MOST_BYTES:
        return None
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
