"""The demo's agent: it answers about orders by calling two tools, one of which breaks, and what Core logs of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from dialwatch.demo.completion import compact_json, token_count
from dialwatch.demo.core_line import CallUsage, CoreCall, core_line
from dialwatch.demo.traffic import TrafficLine, person_of
from dialwatch.demo.turn import COMPLETION_PRICE, MODEL, PROMPT_PRICE, Person, new_ids, total_usage

AGENT = "order-assistant"
ORDERS, DELIVERY = "toolsets/public/orders", "toolsets/public/delivery"
GET_ORDER, GET_DAYS = "orders_get_order", "delivery_get_days"
AWAY = "Error: the order service timed out"
INSTRUCTION = "You answer questions about orders of a shop. Look the order up, then how long its delivery takes."

_TOOLSETS = {GET_ORDER: ORDERS, GET_DAYS: DELIVERY}
_TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in _TOOLSETS]
_DAYS = {"Bern": 2, "Lyon": 3, "Prague": 4, "Oslo": 5}
_ASKED = ("When does my order {} arrive?", "How long does it take until order {} is here?")
_ORDERS = range(4700, 4760)
_LIKED_SHARE = 0.2
_ASKS_AN_HOUR = 26

Message = dict[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, and what the tool says."""

    id: str
    name: str
    arguments: Mapping[str, str]
    result: str
    is_error: bool

    @property
    def asked(self) -> Message:
        """What the model says to have it called."""
        function = {"name": self.name, "arguments": compact_json(self.arguments)}
        call = {"id": self.id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    @property
    def messages(self) -> list[Message]:
        """The call and its result, as an agent keeps them for the next call of its model."""
        return [self.asked, {"role": "tool", "tool_call_id": self.id, "content": self.result}]


@dataclass(frozen=True)
class AgentAnswer:
    """What the agent says, and the calls of tools that it made for it."""

    text: str
    calls: tuple[ToolCall, ...]

    @property
    def history(self) -> list[Message]:
        """The messages of the turn, which the agent keeps in its state as Quick Apps 2 does."""
        return [message for call in self.calls for message in call.messages]

    @property
    def message(self) -> Message:
        """The message that the person sees, with the state."""
        content = {"state": {"tool_execution_history": self.history}}
        return {"role": "assistant", "content": self.text, "custom_content": content}


def answer(question: str, *, is_broken: bool) -> AgentAnswer:
    """Answer as a scripted model does: look the order up, then its days; `is_broken` says that orders time out."""
    number = next((word.strip("?") for word in question.split() if word.strip("?").isdigit()), "0")
    city = sorted(_DAYS)[int(number) % len(_DAYS)]
    found = AWAY if is_broken else compact_json({"id": number, "state": "packed", "city": city})
    order = ToolCall("call_1", GET_ORDER, {"id": number}, found, is_broken)
    wanted = "any" if is_broken else city
    days = max(_DAYS.values()) if is_broken else _DAYS[city]
    delivery = ToolCall("call_2", GET_DAYS, {"city": wanted}, compact_json({"city": wanted, "days": days}), False)
    if is_broken:
        text = f"Orders take up to {days} days. What became of order {number} the order service did not say."
    else:
        text = f"Order {number} is packed and arrives in {city} in {days} days."
    return AgentAnswer(text, (order, delivery))


@dataclass(frozen=True)
class Outage:
    """From when until when the orders' tool times out."""

    begins: datetime
    ends: datetime


def agent_traffic(seed: int, start: datetime, end: datetime, outage: Outage) -> Iterator[TrafficLine]:
    """Yield the lines of the agent, of its model and of its tools by time of arrival; the orders' tool is away a while.

    Each person asks once. Equal arguments give equal lines.
    """
    # Not the stream of numbers of the other traffic: ids would come twice.
    rng = random.Random(f"{AGENT} {seed}")  # noqa: S311 - the same traffic each time is the point
    number = round((end - start) / timedelta(hours=1) * _ASKS_AN_HOUR)
    lines: list[TrafficLine] = []
    for place, moment in enumerate(sorted(start + (end - start) * rng.random() for _ in range(number))):
        turn = _Turn(rng, moment, place, is_broken=outage.begins <= moment < outage.ends)
        if turn.ended < end:
            lines += turn.lines()
        liked_at = turn.ended + timedelta(minutes=rng.uniform(0.5, 20))
        if not turn.is_broken and rng.random() < _LIKED_SHARE and liked_at < end:
            lines.append(turn.like(liked_at))
    yield from sorted(lines, key=lambda line: line.at)


class _Turn:
    """A question to the agent and all calls that come of it."""

    def __init__(self, rng: random.Random, started: datetime, number: int, *, is_broken: bool) -> None:
        self.is_broken = is_broken
        self._rng = rng
        self._person: Person = person_of(rng.randrange(120))
        self._question = rng.choice(_ASKED).format(rng.choice(_ORDERS))
        self._answer = answer(self._question, is_broken=is_broken)
        ids = new_ids(rng)
        self._response_id = ids["response_id"]
        conversation = f"conversations/{self._person.bucket}/{AGENT}__Order {number}"
        self._root = CoreCall(
            deployment=AGENT,
            uri=f"/openai/deployments/{AGENT}/chat/completions",
            started=started,
            trace_id=ids["trace_id"],
            span_id=ids["span_id"],
            execution_path=(AGENT,),
            duration_ms=rng.randrange(3000, 7000),
            chat_id=quote(conversation, safe=""),
            user_id=self._person.user_id,
            user_title=self._person.title,
        )

    @property
    def ended(self) -> datetime:
        """When the person has the answer."""
        return self._root.started + timedelta(milliseconds=self._root.duration_ms or 0)

    def lines(self) -> Iterator[TrafficLine]:
        """Core writes a line when a call ends: the model and the tools in turn, then the answer."""
        asked: list[Message] = [{"role": "system", "content": INSTRUCTION}, self._user]
        usages: list[CallUsage] = []
        calls: list[CoreCall] = []
        for call in self._answer.calls:
            calls += [self._model_call(asked, call.asked, usages), self._tool_call(call)]
            asked = [*asked, *call.messages]
        calls.append(self._model_call(asked, {"role": "assistant", "content": self._answer.text}, usages))
        step = timedelta(milliseconds=self._root.duration_ms or 0) / (len(calls) + 1)
        for place, made in enumerate(calls):
            began = self._root.started + place * step
            line = core_line(replace(made, started=began, duration_ms=step // timedelta(milliseconds=1)))
            yield TrafficLine(began + step, line, "child", made.deployment)
        whole = self._with_bodies(self._root, [self._user], self._answer.message, self._response_id)
        raw = core_line(replace(whole, usage=total_usage(*usages)))
        yield TrafficLine(self.ended, raw, "answer", AGENT, right=not self.is_broken)

    def like(self, moment: datetime) -> TrafficLine:
        """Return the line of a like, which has a trace of its own."""
        ids = new_ids(self._rng)
        body = compact_json({"rate": True, "modelId": AGENT, "responseId": self._response_id})
        call = replace(
            self._root,
            uri=f"/v1/{AGENT}/rate",
            started=moment,
            trace_id=ids["trace_id"],
            span_id=ids["span_id"],
            request_body=body,
            execution_path=None,
            duration_ms=None,
        )
        return TrafficLine(moment, core_line(call), "like", AGENT)

    @property
    def _user(self) -> Message:
        return {"role": "user", "content": self._question}

    def _model_call(self, asked: Sequence[Message], said: Message, usages: list[CallUsage]) -> CoreCall:
        prompt, completion = token_count(compact_json(asked)), token_count(compact_json(said))
        price = prompt * PROMPT_PRICE + completion * COMPLETION_PRICE
        usages.append(
            CallUsage(prompt_tokens=prompt, completion_tokens=completion, price=price, deployment_price=price)
        )
        child = self._child(MODEL, f"/openai/deployments/{MODEL}/chat/completions")
        name = f"chatcmpl-{self._rng.getrandbits(116):029x}"
        return replace(self._with_bodies(child, asked, said, name, tools=_TOOLS), usage=usages[-1])

    def _tool_call(self, call: ToolCall) -> CoreCall:
        toolset = _TOOLSETS[call.name]
        head = {"jsonrpc": "2.0", "id": 1}
        # A tool's name in the model's words begins with that of its toolset.
        params = {"name": call.name.partition("_")[2], "arguments": call.arguments}
        result = {"content": [{"type": "text", "text": call.result}], "isError": call.is_error}
        response = f"event: message\ndata: {compact_json(head | {'result': result})}\n\n"
        return replace(
            self._child(toolset, f"/v1/toolset/{toolset}/mcp"),
            request_body=compact_json(head | {"method": "tools/call", "params": params}),
            response_body=response,
            assembled_response=response,
        )

    def _child(self, deployment: str, uri: str) -> CoreCall:
        return replace(
            self._root,
            deployment=deployment,
            uri=uri,
            span_id=new_ids(self._rng)["span_id"],
            parent_span_id=self._root.span_id,
            parent_deployment=AGENT,
            execution_path=(AGENT, deployment),
        )

    def _with_bodies(
        self, call: CoreCall, asked: Sequence[Message], said: Message, response_id: str, **more: Any
    ) -> CoreCall:
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": said}
        head = {"id": response_id, "object": "chat.completion", "created": int(call.started.timestamp())}
        body = compact_json(head | {"model": call.deployment, "choices": [choice]})
        request = compact_json({"messages": asked, "model": call.deployment, "stream": False} | more)
        return replace(call, request_body=request, response_body=body, assembled_response=body)
