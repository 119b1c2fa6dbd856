"""Server that speaks S3 (moto) and counts its requests by kind, in a process of its own.

    python -m benchmarks.lake.counting_store PORT

`GET /counts` gives the numbers since the last time as JSON: `{"LIST": 3, "GET": 10, ...}`; they begin anew then.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

_Start = Callable[..., Any]


class CountingStore:
    """WSGI application: moto, with a count of its requests by kind and kind of object."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def __call__(self, environ: dict[str, Any], start: _Start) -> Iterable[bytes]:
        """Answer one request."""
        if environ["PATH_INFO"] == "/counts":
            with self._lock:
                counts, self._counts = self._counts, Counter()
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(counts).encode()]
        with self._lock:
            self._counts[_kind(environ)] += 1
            if "-v" in sys.argv:
                print(_kind(environ), environ["PATH_INFO"], environ.get("QUERY_STRING", ""), flush=True)
        return self._moto(environ, start)  # type: ignore[no-any-return]


def _kind(environ: dict[str, Any]) -> str:
    method = str(environ["REQUEST_METHOD"])
    if method == "GET" and "list-type" in environ.get("QUERY_STRING", ""):
        return "LIST"
    return method


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Log nothing."""


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), CountingStore(), threaded=True, request_handler=_Quiet)
