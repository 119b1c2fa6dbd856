"""s3fs that counts its requests.

A module of its own, as the import takes long and a lake in a folder needs none of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from botocore.exceptions import ReadTimeoutError
from s3fs.core import S3FileSystem

from lake.spec.service_vocabulary import StoreUser
from lake.store.requests import REQUESTS, kind_of

_PAUSES = (0.1, 0.4, 1.0)
"""Seconds before each repetition of a request whose answer was cut short."""


class CountedS3(S3FileSystem):  # type: ignore[misc]
    """File system of a store, each of whose attempts at a request is counted for `user`."""

    def __init__(self, *args: Any, user: str, **kwargs: Any) -> None:
        self._user = StoreUser(user)
        super().__init__(*args, **kwargs)

    async def set_session(self, refresh: bool = False, kwargs: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """Connect, and count from then on."""
        client = await super().set_session(refresh, dict(kwargs))
        # Also called for a client that is there; an id is registered once.
        client.meta.events.register("before-send.s3", self._count, unique_id="dialwatch")
        return client

    async def _cat_file(self, path: str, *values: Any, **named: Any) -> bytes:
        """Return the bytes of a file, by one request that is tried as often as any other.

        s3fs tries it again as often for each of its tries: of a store that does not answer it says so after minutes.
        A body that is cut short is asked for again, `_PAUSES` times. Raises OSError where it cannot be had whole.
        """
        if values or named.keys() - {"max_concurrency"}:
            return bytes(await super()._cat_file(path, *values, **named))
        bucket, key, _ = self.split_path(path)
        for pause in (*_PAUSES, None):
            answer = await self._call_s3("get_object", Bucket=bucket, Key=key)
            try:
                return bytes(await answer["Body"].read())
            except Exception as error:  # of the client, or of the connection below it
                if pause is None or isinstance(error, TimeoutError | ReadTimeoutError):
                    raise OSError(f"{path} could not be read to its end: {type(error).__name__}: {error}") from error
            finally:
                answer["Body"].close()
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _count(self, request: Any, event_name: str, **_: Any) -> None:
        REQUESTS.add(self._user, kind_of(event_name.rpartition(".")[2], request.method))
