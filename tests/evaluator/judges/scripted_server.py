"""A local server that speaks chat completions and follows a script, one act a request.

`GET /calls` says how many requests it began and how many it answered, and `GET /calls?most=N` has all after the first N
wait for another such word.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import uvicorn

from tests.servers import wait_for

Send = Callable[[dict[str, Any]], Awaitable[None]]
Act = Callable[["Request", Send], Awaitable[None]]
FITS = '{"verdict": "S"}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}


@dataclass(frozen=True)
class Request:
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str:
        return "schema" if "response_format" in self.body else "tool" if "tools" in self.body else "text"


def completion(content: str | None = FITS, **changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish_reason", "stop")}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": USAGE} | changes


def called(arguments: str) -> dict[str, Any]:
    tool = {"id": "call-1", "type": "function", "function": {"name": "answer", "arguments": arguments}}
    return completion(None, message={"tool_calls": [tool]}, finish_reason="tool_calls")


async def respond(send: Send, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    given = {"content-type": "application/json"} | (headers or {})
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def says(content: str | None = FITS, **changes: Any) -> Act:
    """A reply with this content."""
    return gives(completion(content, **changes))


def gives(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Act:
    """A response with this body."""

    async def act(request: Request, send: Send) -> None:
        await respond(send, status, json.dumps(body).encode(), headers)

    return act


def fails(status: int, code: str | None = None, message: str = "no", **headers: str) -> Act:
    """An error in the shape of DIAL and OpenAI."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code, "display_message": None}
    return gives({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


async def as_it_can(request: Request, send: Send) -> None:
    """A right answer in the form that was asked for."""
    await respond(send, 200, json.dumps(called(FITS) if request.form == "tool" else completion()).encode())


def knows(*forms: str) -> Act:
    """A right answer where the form is known, else the 400 of a server that does not know it."""

    async def act(request: Request, send: Send) -> None:
        await (as_it_can if request.form in forms else fails(400, message="Extra inputs"))(request, send)

    return act


def later(seconds: float, act: Act = as_it_can) -> Act:
    async def wait(request: Request, send: Send) -> None:
        await asyncio.sleep(seconds)
        await act(request, send)

    return wait


def once(condition: Callable[[], bool], act: Act = as_it_can) -> Act:
    """The same as soon as a condition is true; an error where it does not come true."""

    async def wait(request: Request, send: Send) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.005)
        await act(request, send)

    return wait


async def cut_json(request: Request, send: Send) -> None:
    await respond(send, 200, json.dumps(completion()).encode()[:40])


async def cut_body(request: Request, send: Send) -> None:
    """The connection ends before the length that was announced."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"10000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"id": "chatcm', "more_body": True})
    raise ConnectionResetError


async def slow_drip(request: Request, send: Send) -> None:
    """A right answer, never silent for long and not there for five seconds."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    for _ in range(250):
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await asyncio.sleep(0.02)
    await send({"type": "http.response.body", "body": json.dumps(completion()).encode()})


@dataclass
class ScriptedServer:
    """Follows `script`, and when that is over does `always`; keeps what was asked."""

    script: list[Act] = field(default_factory=list)
    always: Act = as_it_can
    requests: list[Request] = field(default_factory=list)
    answered: int = 0
    at_once: int = 0
    most_at_once: int = 0
    most: float = math.inf
    url: str = ""

    def follow(self, *acts: Act) -> None:
        self.script = list(acts)

    @property
    def forms(self) -> Sequence[str]:
        return [request.form for request in self.requests]

    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "GET":
            self.most = float(parse_qs(scope["query_string"].decode()).get("most", [self.most])[0])
            await respond(send, 200, json.dumps([len(self.requests), self.answered]).encode())
            return
        request = await _request(scope, receive)
        self.requests.append(request)
        number = len(self.requests)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            while number > self.most:
                await asyncio.sleep(0.005)
            await (self.script.pop(0) if self.script else self.always)(request, send)
            self.answered += 1
        finally:
            self.at_once -= 1


async def _request(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]]) -> Request:
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body", False)
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    return Request(scope["path"], parse_qs(scope["query_string"].decode()), headers, json.loads(body))


class Stage:
    """Where one server after the other plays; what an earlier one has not ended does not disturb the next."""

    def __init__(self, url: str) -> None:
        self.playing = ScriptedServer(url=url)

    def fresh(self) -> ScriptedServer:
        self.playing = ScriptedServer(url=self.playing.url)
        return self.playing

    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        await self.playing(scope, receive, send)


def _server(app: Any) -> uvicorn.Server:
    return uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=0))


@contextmanager
def serving() -> Iterator[Stage]:
    """Serve in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    stage = Stage(f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = _server(stage)
    thread = Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    try:
        yield stage
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive(), "the server does not end"


def serve(port: int, seconds: float, act: Act = as_it_can) -> None:
    """Serve in this process for ever, each answer so many seconds late."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        _server(ScriptedServer(always=later(seconds, act))).run([listening])


def calls_of(url: str, most: float | None = None) -> int:
    """Calls that a server has seen; from here on it leaves those after the first `most` unanswered."""
    with urllib.request.urlopen(f"{url}/calls" + (f"?most={most}" if most else "")) as response:
        return int(json.load(response)[0])
