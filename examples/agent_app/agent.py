"""An agent behind DIAL: it asks a model what to do, calls two tools over MCP, and keeps the calls in its state.

It calls model and tools through DIAL Core, with the key of the request. So Core logs each call below that of the agent.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from aidial_sdk import DIALApp
from aidial_sdk.chat_completion import ChatCompletion, Request, Response

CORE = os.environ.get("DIAL_URL", "http://127.0.0.1:8080")
MODEL = "gpt-4o"
TOOLSETS = {"orders": "toolsets/public/orders", "delivery": "toolsets/public/delivery"}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("orders_get_order", "delivery_get_days")
]
MOST_STEPS = 10


class Agent(ChatCompletion):
    """Calls tools until its model has an answer."""

    async def chat_completion(self, request: Request, response: Response) -> None:
        """Answer a question, with a stage for each call of a tool."""
        messages = [{"role": one.role.value, "content": one.content} for one in request.messages]
        history: list[dict[str, Any]] = []
        with response.create_single_choice() as choice:
            for _ in range(MOST_STEPS):
                said = await ask_model(request.api_key, [*messages, *history])
                if not said.get("tool_calls"):
                    choice.append_content(said["content"])
                    break
                history.append(said)
                for call in said["tool_calls"]:
                    name, arguments = call["function"]["name"], call["function"]["arguments"]
                    with choice.create_stage(f"Calling {name}") as stage:
                        result = await call_tool(request.api_key, name, json.loads(arguments))
                        stage.append_content(result)
                    # The id of the call joins it with its result.
                    history.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            choice.set_state({"tool_execution_history": history})


async def ask_model(key: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the model says: a text, or calls of tools."""
    body = {"messages": messages, "tools": TOOLS}
    answer = await post(f"/openai/deployments/{MODEL}/chat/completions", key, body)
    return dict(answer["choices"][0]["message"])


async def call_tool(key: str, name: str, arguments: dict[str, Any]) -> str:
    """Call a tool of an MCP server; its error is a text for the model, as its result is."""
    toolset, _, tool = name.partition("_")
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        # The same name and the same arguments as the model said: by these the two lines are joined.
        "params": {"name": tool, "arguments": arguments},
    }
    answer = await post(f"/v1/toolset/{TOOLSETS[toolset]}/mcp", key, body)
    if "error" in answer:
        return f"Error: {answer['error']['message']}"
    return "\n".join(part["text"] for part in answer["result"]["content"])


async def post(path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request to DIAL Core with the key of the request that is answered: so Core knows who calls."""

    def send() -> dict[str, Any]:
        headers = {"Api-Key": key, "Content-Type": "application/json"}
        with urlopen(HttpRequest(CORE + path, json.dumps(body).encode(), headers)) as answer:  # noqa: S310 - DIAL_URL
            return dict(json.load(answer))

    return await asyncio.to_thread(send)


app = DIALApp()
app.add_chat_completion("order-agent", Agent())
