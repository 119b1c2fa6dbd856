"""A judge: asked for JSON that fits a schema, it answers, or says in one word why not."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from evaluator.judges.answer import Answer, JudgeError, Message, Spend
from evaluator.judges.calls import BudgetSpentError, Calls
from evaluator.judges.endpoint import Endpoint, EndpointError
from evaluator.judges.forms import FORMS, Form, asked_again, request
from evaluator.judges.reply import Reply, reply_from_json
from evaluator.judges.schema import MisfitError, Schema, check_schema, read
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from evaluator.judges.traffic import Clock, Sleep, Traffic

log = logging.getLogger(__name__)

_ATTEMPTS = 6
_LONGEST_BACKOFF_SECONDS = 30.0
_BYTES_A_TOKEN = 3
"""English has four bytes a token, Russian and Chinese between three and a half and seven."""
_TOLD_EVERY_SECONDS = 600.0
_BYTES_AROUND_A_TEXT = 30
"""Ten tokens: the marks around a message, and the name of a schema."""


@dataclass(frozen=True)
class _Call:
    key: str
    body: Mapping[str, Any]
    prompt_tokens: int
    bound: float


class Judge:
    """A judge of one event loop, used in `async with`, which ends when the calls under way have ended.

    A call that the budget refuses waits for those under way, which set free what they did not cost.

    A request that was answered before, by whichever process that shares `calls`, is answered from there, and else from
    `shared` where that has a reply. The same request asked twice at a time is one call. A call goes on where the caller
    is cancelled, as it is paid anyway.
    """

    def __init__(
        self,
        name: str,
        settings: JudgeSettings,
        calls: Calls,
        *,
        grace: float = 30.0,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        chance: random.Random | None = None,
        shared: SharedReplies | None = None,
    ) -> None:
        """`grace` is how many seconds calls under way get when the judge is closed."""
        self.name = name
        self.traffic = Traffic(settings, clock, sleep)
        self._settings = settings
        self._calls = calls
        self._shared = shared
        self._grace = grace
        self._clock, self._sleep = clock, sleep
        self._tells_from = self._tells_failures_from = clock()
        self._tells_rest = False
        self._chance = chance or random.Random()  # noqa: S311 - spreads retries
        self._endpoint = Endpoint(settings)
        self._shapes: set[str] = set()
        self._forms: dict[str, Form] = {}
        self._probing = asyncio.Lock()
        self._running: dict[str, asyncio.Task[tuple[Reply, Spend]]] = {}
        self._sending: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End: what waits is told that it is too late, what is under way has the time of grace."""
        self._closing = True
        for task in set(self._running.values()) - self._sending:
            task.cancel()
        if self._sending:
            await asyncio.wait(self._sending, timeout=self._grace)
        left = list(self._running.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._endpoint.close()

    async def ask(
        self,
        messages: Sequence[Message],
        schema: Schema,
        *,
        prompt_version: str,
        draw: int = 0,
        check: Callable[[Any], None] | None = None,
    ) -> Answer:
        """Give the answer to a prompt, as JSON that fits the schema.

        A reply that does not fit is asked for once more, with what is wrong with it and the schema as text; so is one
        about which `check` raises MisfitError, without the schema. The second need only fit the schema: who asked takes
        of it what can be used.
        `prompt_version` and `draw` only tell requests apart: another draw is another call, for votes that shall be
        independent. Raises JudgeError, and ValueError for a schema that could not be checked.
        """
        if (shape := json.dumps(schema)) not in self._shapes:
            check_schema(schema)
            self._shapes.add(shape)
        conversation, spend, told = messages, Spend(), ""
        for is_last in (False, True):
            reply, spent = await self._reply(conversation, schema, prompt_version, draw, spend)
            spend += spent
            self._raise_if_none(reply, spend)
            try:
                parsed = read(reply.text, schema)
            except MisfitError as misfit:
                told = misfit.told
                conversation = asked_again(conversation, reply.text, misfit, schema)
                continue
            try:
                if check is not None and not is_last:
                    check(parsed)
            except MisfitError as misfit:
                conversation = asked_again(conversation, reply.text, misfit)
                continue
            return Answer(parsed, spend, from_cache=spend.calls == 0)
        message = f"two replies did not fit the schema, the last at {told}"
        self._tell(message)
        raise JudgeError("judge_failed", f"{self.name}: {message}", spend)

    async def _reply(
        self, messages: Sequence[Message], schema: Schema, version: str, draw: int, before: Spend
    ) -> tuple[Reply, Spend]:
        try:
            return await self._kept_or_made(self._key(messages, schema, version, draw), messages, schema)
        except JudgeError as error:
            raise JudgeError(error.reason, f"{self.name}: {error}", before + error.spend) from None
        except sqlite3.Error as error:
            message = f"{self.name}: no call is made or used that cannot be kept: {error}"
            raise JudgeError("judge_unavailable", message, before) from None

    async def _kept_or_made(self, key: str, messages: Sequence[Message], schema: Schema) -> tuple[Reply, Spend]:
        if kept := self._calls.find(key):
            return reply_from_json(kept), Spend()
        running = self._running.get(key)
        if running is not None:
            return await self._joined(running)
        if self._closing:
            raise JudgeError("judge_unavailable", "closed")
        running = asyncio.create_task(self._found_or_made(key, messages, schema))
        self._running[key] = running
        running.add_done_callback(lambda task: self._end(key, task))
        return await _shielded(running)

    async def _joined(self, running: asyncio.Task[tuple[Reply, Spend]]) -> tuple[Reply, Spend]:
        """The reply of a call that somebody else has asked for, and pays."""
        try:
            reply, _ = await _shielded(running)
        except JudgeError as error:
            raise JudgeError(error.reason, str(error)) from None
        return reply, Spend()

    def _end(self, key: str, task: asyncio.Task[tuple[Reply, Spend]]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # nobody may be left to ask for it

    async def _found_or_made(self, key: str, messages: Sequence[Message], schema: Schema) -> tuple[Reply, Spend]:
        if self._shared is None:
            return await self._exchange(key, messages, schema)
        if found := await asyncio.to_thread(self._shared.find, key):
            return found, Spend()
        made = await self._exchange(key, messages, schema)
        with suppress(asyncio.CancelledError):  # it is paid: who asked gets it, shared or not
            await asyncio.to_thread(self._shared.keep, key, made[0])
        return made

    async def _exchange(self, key: str, messages: Sequence[Message], schema: Schema) -> tuple[Reply, Spend]:
        shape = json.dumps(schema)
        if shape not in self._forms:
            async with self._probing:
                if shape not in self._forms:
                    return await self._try(key, messages, schema, shape)
        return await self._try(key, messages, schema, shape)

    async def _try(self, key: str, messages: Sequence[Message], schema: Schema, shape: str) -> tuple[Reply, Spend]:
        """Call until there is a reply; the first reply for a schema shows in which form it can be sent."""
        spend, attempt = Spend(), 0
        forms = iter([self._forms[shape]] if shape in self._forms else FORMS)
        form = next(forms)
        while True:
            call = self._call(key, request(self._settings, messages, schema, form), shape)
            try:
                reply, paid = await self._make(call)
            except EndpointError as error:
                failure = error.failure
                self._tell_of_rest(error.told)
                if failure.paid:
                    spend += Spend(calls=1, cost=call.bound)
                if failure.other_form and (other := next(forms, None)):
                    form = other
                    continue
                attempt += 1
                if self._closing or not failure.again or attempt == _ATTEMPTS:
                    if failure.down or failure.busy or failure.other_form or failure.reason == "judge_unavailable":
                        self._tell(error.told)
                    # Where no request was ever taken, it is the settings that do not fit rather than this row.
                    unfit = failure.other_form and shape not in self._forms
                    raise JudgeError("judge_unavailable" if unfit else failure.reason, str(error), spend) from None
                self._tell_of_failure(error)
                await self._sleep(self._chance.uniform(0, min(_LONGEST_BACKOFF_SECONDS, 2.0**attempt)))
            except JudgeError as error:
                if error.reason != "judge_budget" or self._closing or not self._sending:
                    raise JudgeError(error.reason, str(error), spend) from None
                # Those under way count at their upper bound, and will hardly cost that much.
                await asyncio.wait(self._sending, return_when=asyncio.FIRST_COMPLETED)
            else:
                self._tell_of_rest("")
                self._forms.setdefault(shape, form)
                return reply, spend + paid

    def _tell(self, why: str) -> None:
        if not self._closing and self._clock() >= self._tells_from:
            self._tells_from = self._clock() + _TOLD_EVERY_SECONDS
            log.warning("judge %r gives no answer: %s", self.name, why, extra={"judge": self.name})

    def _tell_of_failure(self, error: EndpointError) -> None:
        """Tell at once of an endpoint that does not work: the tries that follow may take minutes."""
        if error.failure.down and not self._closing and self._clock() >= self._tells_failures_from:
            self._tells_failures_from = self._clock() + _TOLD_EVERY_SECONDS
            text = "judge %r does not answer: %s; it is asked again"
            log.warning(text, self.name, error.told, extra={"judge": self.name})

    def _tell_of_rest(self, why: str) -> None:
        if self.traffic.rests and not self._tells_rest:
            text = "judge %r rests after failures in a row, the last: %s; now and then a call is tried, the others fail"
            log.warning(text, self.name, why, extra={"judge": self.name})
        elif self._tells_rest and not self.traffic.rests:
            log.info("judge %r answers again", self.name, extra={"judge": self.name})
        self._tells_rest = self.traffic.rests

    def _raise_if_none(self, reply: Reply, spend: Spend) -> None:
        if reply.finish_reason == "content_filter":
            raise JudgeError("judge_content_filter", "the endpoint's filter stopped the reply", spend)
        if reply.refusal:
            raise JudgeError("judge_refused", "the model refused to answer", spend)
        if reply.finish_reason == "length":
            message = f"the reply was cut at {self._settings.max_tokens} tokens; a higher max_tokens may help"
            self._tell(message)
            raise JudgeError("judge_cut", message, spend)

    def _call(self, key: str, body: Mapping[str, Any], shape: str) -> _Call:
        tokens = token_bound(shape, *(message["content"] for message in body["messages"]))
        return _Call(key, body, tokens, self._settings.cost(tokens, self._settings.max_tokens))

    async def _make(self, call: _Call) -> tuple[Reply, Spend]:
        booked = call.prompt_tokens + self._settings.max_tokens
        async with self.traffic.turn(booked, lambda: self._check(call)):
            number = self._begin(call)
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 - for the type
            self._sending.add(task)
            try:
                reply = await self._endpoint.send(call.body)
            except EndpointError as error:
                if not error.failure.paid:
                    self._calls.release(number)
                    self.traffic.give_back(booked)
                raise
            finally:
                self._sending.discard(task)
            spend = self._spend(reply, call)
            self._calls.finish(number, reply.to_json(), spend.cost)
        self.traffic.give_back(booked - min(booked, spend.prompt_tokens + spend.completion_tokens))
        return reply, spend

    def _check(self, call: _Call) -> None:
        """Refuse before the call waits for its time; what comes while it waits, `_begin` sees."""
        settings = self._settings
        if not settings.priced and not settings.allow_unpriced:
            message = "it is not known what a call costs; give prompt_price and completion_price, or allow_unpriced"
            raise JudgeError("judge_unpriced", message)
        try:
            self._calls.check(self.name, call.bound, settings.budget_per_hour, settings.budget_per_day)
        except BudgetSpentError as error:
            raise JudgeError("judge_budget", str(error)) from None

    def _begin(self, call: _Call) -> int:
        settings = self._settings
        try:
            return self._calls.begin(self.name, call.key, call.bound, settings.budget_per_hour, settings.budget_per_day)
        except BudgetSpentError as error:
            raise JudgeError("judge_budget", str(error)) from None

    def _spend(self, reply: Reply, call: _Call) -> Spend:
        # DIAL writes zeros where a model does not count its tokens.
        prompt = reply.prompt_tokens or call.prompt_tokens
        completion = reply.completion_tokens or -(-len(reply.text) // _BYTES_A_TOKEN)
        cached = min(reply.cached_prompt_tokens, prompt)
        return Spend(1, prompt, cached, completion, self._settings.cost(prompt, completion, cached))

    def _key(self, messages: Sequence[Message], schema: Schema, version: str, draw: int) -> str:
        settings = self._settings
        judge = [settings.base_url, settings.deployment, settings.model, settings.temperature, settings.max_tokens]
        prompt = [[message.role, message.content] for message in messages]
        return hashlib.sha256(json.dumps([judge, version, draw, prompt, schema]).encode()).hexdigest()


async def _shielded(running: asyncio.Task[tuple[Reply, Spend]]) -> tuple[Reply, Spend]:
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if running.cancelled():
            raise JudgeError("judge_unavailable", "closed before there was a reply") from None
        raise


def token_bound(*texts: str) -> int:
    """Give the most tokens that most texts have; for the rare one of more, the true cost is what counts in the end."""
    size = sum(len(text.encode("utf-8", "replace")) + _BYTES_AROUND_A_TEXT for text in texts)
    return -(-size // _BYTES_A_TOKEN)
