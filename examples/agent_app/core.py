"""A stand-in for DIAL Core, with a scripted model and two tools: it asks the agent questions and writes Core's log.

    python core.py aidial.log --answers 240 --break-from 180 --break-until 220

The answers are spread over the last 24 hours. While the tool `get_order` is broken, each call of it is an error.
"""

from __future__ import annotations

import argparse
import json
import secrets
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

AGENT, MODEL = "order-agent", "gpt-4o"
ORDERS, DELIVERY = "toolsets/public/orders", "toolsets/public/delivery"
CITIES = {"Bern": 2, "Lyon": 3, "Prague": 4, "Oslo": 5}


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Say what a model would: look the order up, then its days, then answer."""
    results = [one["content"] for one in messages if one["role"] == "tool"]
    number = messages[0]["content"].split()[-1].strip("?")
    if not results:
        return calls("call_1", "orders_get_order", {"id": number})
    order = {} if results[0].startswith("Error") else json.loads(results[0])
    if len(results) == 1:
        return calls("call_2", "delivery_get_days", {"city": order.get("city", "any")})
    days = json.loads(results[1])["days"]
    if not order:
        return {"role": "assistant", "content": f"Orders take up to {days} days. I could not see order {number}."}
    return {"role": "assistant", "content": f"Order {number} arrives in {order['city']} in {days} days."}


def calls(call_id: str, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    """What a model says to have a tool called."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def tool(deployment: str, arguments: dict[str, str], *, is_broken: bool) -> dict[str, Any]:
    """Give the result of a tool as an MCP server does; an error is a result with `isError`."""
    if deployment == ORDERS and is_broken:
        return {"content": [{"type": "text", "text": "Error: the order service timed out"}], "isError": True}
    if deployment == ORDERS:
        found: dict[str, Any] = {"id": arguments["id"], "city": list(CITIES)[int(arguments["id"]) % len(CITIES)]}
    else:
        found = {"days": CITIES.get(arguments["city"], max(CITIES.values()))}
    return {"content": [{"type": "text", "text": json.dumps(found)}], "isError": False}


class Core:
    """Passes requests on, knows by its key which request made a call, and logs each call when it ends."""

    def __init__(self, log: Path, agent: str) -> None:
        self.log = log
        self.agent = agent
        self.now = datetime.now(UTC)
        self.is_broken = False
        self._callers: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def serve(self, path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request, and write its line."""
        caller = self._callers.get(key)
        deployment = path.removeprefix("/openai/deployments/").removesuffix("/chat/completions")
        deployment = deployment.removeprefix("/v1/toolset/").removesuffix("/mcp")
        request: dict[str, Any] = {
            "deployment": deployment,
            # All calls of one question have its trace; each has a span of its own.
            "trace_id": caller["trace_id"] if caller else secrets.token_hex(16),
            "span_id": secrets.token_hex(8),
            "chat_id": caller["chat_id"] if caller else f"conversations%2F{secrets.token_hex(4)}%2FOrders",
            "time": self._tick(),
        }
        if deployment == AGENT:
            new_key = secrets.token_hex(8)
            self._callers[new_key] = request
            answer = post(f"{self.agent}{path}", new_key, body)
        elif deployment == MODEL:
            answer = self._completion(model(body["messages"]))
        else:
            result = tool(deployment, body["params"]["arguments"], is_broken=self.is_broken)
            answer = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        self._write(path, request, caller, body, answer)
        return answer

    def _tick(self) -> datetime:
        with self._lock:
            self.now += timedelta(milliseconds=400)
            return self.now

    def _completion(self, message: dict[str, Any]) -> dict[str, Any]:
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": message}
        head = {"id": f"chatcmpl-{secrets.token_hex(8)}", "object": "chat.completion"}
        return head | {"created": int(self.now.timestamp()), "model": MODEL, "choices": [choice]}

    def _write(
        self,
        path: str,
        request: dict[str, Any],
        caller: dict[str, Any] | None,
        body: dict[str, Any],
        answer: dict[str, Any],
    ) -> None:
        took = self._tick() - request["time"]
        trace = {"trace_id": request["trace_id"], "core_span_id": request["span_id"]}
        line: dict[str, Any] = {
            "apiType": "DialOpenAI",
            "chat": {"id": request["chat_id"]},
            "project": {"id": ""},
            "user": {"id": "an-example", "title": ""},
            "deployment": request["deployment"],
        }
        if caller is not None:
            line["parent_deployment"] = caller["deployment"]
            trace["core_parent_span_id"] = caller["span_id"]
        line |= {
            "execution_path": [*([caller["deployment"]] if caller else []), request["deployment"]],
            "operation_duration_ms": took // timedelta(milliseconds=1),
            # Bodies are texts that hold JSON.
            "assembled_response": json.dumps(answer),
            "trace": trace,
            "request": {
                "protocol": "HTTP/1.1",
                "method": "POST",
                "uri": path,
                "time": request["time"].replace(tzinfo=None).isoformat(timespec="milliseconds"),
                "body": json.dumps(body),
            },
            "response": {"status": "200", "body": json.dumps(answer)},
        }
        with self._lock, self.log.open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def post(url: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a body as JSON and return the answer."""
    headers = {"Api-Key": key, "Content-Type": "application/json"}
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as answer:  # noqa: S310 - of the command line
        return dict(json.load(answer))


def serving(core: Core, port: int) -> ThreadingHTTPServer:
    """Serve DIAL's addresses to the agent, in threads."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(core.serve(self.path, self.headers["Api-Key"], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Ask the agent as often as was said, and write the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--agent", default="http://127.0.0.1:5000", help="where the agent listens")
    parser.add_argument("--port", type=int, default=8080, help="where the agent finds Core (DIAL_URL)")
    parser.add_argument("--answers", type=int, default=240)
    parser.add_argument("--break-from", type=int, help="from this answer on get_order fails")
    parser.add_argument("--break-until", type=int, help="until this one")
    given = parser.parse_args()
    core = Core(given.log, given.agent)
    server = serving(core, given.port)
    begin = datetime.now(UTC) - timedelta(hours=24)
    first = given.answers if given.break_from is None else given.break_from
    last = given.answers if given.break_until is None else given.break_until
    for number in range(given.answers):
        core.now = begin + number * timedelta(hours=24) / given.answers
        core.is_broken = first <= number < last
        asked = {"messages": [{"role": "user", "content": f"When does this order arrive: {4700 + number % 60}?"}]}
        core.serve(f"/openai/deployments/{AGENT}/chat/completions", "", asked)
    server.shutdown()
    print(f"{given.answers} answers are in {given.log}")


if __name__ == "__main__":
    main()
