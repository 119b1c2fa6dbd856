"""Tokens for SASL OAUTHBEARER, from an OAuth 2.0 server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import httpx
from kafka.net.sasl.oauth import AbstractTokenProvider

from collector.sources.kafka.settings import KafkaSettings

_TIMEOUT_SECONDS = 10.0
_SHARE_OF_LIFE = 0.8
"""A token is used for this part of its life, so that none ends on the way to the broker."""


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Takes tokens by the client-credentials grant (RFC 6749, section 4.4) and uses each again while it lives."""

    def __init__(
        self, settings: KafkaSettings, client: httpx.Client, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._settings = settings
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._good_until = float("-inf")

    def token(self) -> str:
        """Give a token that is still good; raises httpx.HTTPError or ValueError where the server gives none."""
        with self._lock:
            if self._clock() >= self._good_until:
                self._token, seconds = self._fetch()
                self._good_until = self._clock() + seconds * _SHARE_OF_LIFE
            return self._token

    def _fetch(self) -> tuple[str, float]:
        settings, url = self._settings, self._settings.oauth_token_url or ""
        secret = settings.oauth_client_secret.get_secret_value() if settings.oauth_client_secret else ""
        form = {"grant_type": "client_credentials"}
        if settings.oauth_scope is not None:
            form["scope"] = settings.oauth_scope
        login = httpx.BasicAuth(settings.oauth_client_id or "", secret)
        answer = self._client.post(url, data=form, auth=login, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        # The text of the answer may contain a token, so the error names only the missing member.
        try:
            given = answer.json()
            return str(given["access_token"]), float(given.get("expires_in", 0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{url} answered without an access_token; check oauth_token_url") from error
