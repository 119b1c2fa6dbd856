"""Judge of one event loop: takes a prompt and a JSON Schema, gives JSON that fits it, or a reason why not."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Self

from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.budget_slices import BudgetSlices, UnreservableError
from evaluator.judges.calls import BudgetSpentError, Calls
from evaluator.judges.completion import ChatCompletion, completion_from_json
from evaluator.judges.endpoint import Endpoint, EndpointError
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeReply, Reason, Spend
from evaluator.judges.fence import with_marks
from evaluator.judges.prompt_claim import ABANDONED_SECONDS, ClaimedError, Paid, PromptClaim
from evaluator.judges.request_formats import (
    REQUEST_FORMATS,
    AcceptedParameters,
    RequestFormat,
    asked_again,
    bound_of,
    request,
    request_key,
    tokens_of,
)
from evaluator.judges.schema import Check, MisfitError, Schema, check_schema, misfit_of, read, read_cut
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from evaluator.judges.throttle import Clock, Sleep, Throttle
from lake.spec.answer_kinds import finish_kind
from lake.spec.vocabulary import FinishReason
from runtime.backoff import Backoff

logger = logging.getLogger(__name__)

_ATTEMPTS = 6
_LONGEST_BACKOFF_SECONDS = 30.0
_WARNING_SECONDS = 600.0
"""A judge that goes on failing is one warning in this time."""


@dataclass(frozen=True)
class _Prompt:
    """What is asked, with `probabilities` of values or not. `shape` is the schema as text, `key` what it is kept under.

    `claim` is taken before each call, so that workers with files of their own do not ask the same.
    """

    messages: Sequence[ChatMessage]
    schema: Schema
    shape: str
    key: str
    probabilities: bool
    claim: PromptClaim | None = None


@dataclass(frozen=True)
class _Call:
    """A request as it is sent, with upper bounds of its tokens and of its cost."""

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
        budgets: BudgetLedger | None = None,
    ) -> None:
        """`grace` is how many seconds calls under way get when the judge is closed."""
        self.name = name
        self.throttle = Throttle(settings, clock, sleep)
        self._settings = settings
        self._calls = calls
        self._shared = shared
        self._slices = None if budgets is None else BudgetSlices(name, settings, calls, budgets)
        self._grace = grace
        self._clock, self._sleep = clock, sleep
        self._next_warning = self._next_retry_warning = clock()
        self._circuit_was_open = False
        self._chance = chance or random.Random()  # noqa: S311 - spreads retries
        self._endpoint = Endpoint(settings)
        self._checked_shapes: set[str] = set()
        self._formats: dict[str, RequestFormat] = {}
        self._parameters = AcceptedParameters(settings)
        self._negotiating = asyncio.Lock()
        self._running: dict[str, asyncio.Task[Paid]] = {}
        self._sending: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End: calls that wait fail, calls under way have the time of grace."""
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
        if self._slices is not None:
            await self._slices.give_back()

    async def ask(
        self,
        messages: Sequence[ChatMessage],
        schema: Schema,
        *,
        prompt_version: str,
        draw: int = 0,
        check: Check = None,
        optional: Set[str] = frozenset(),
        probabilities: bool = False,
        usable_cut: bool = False,
    ) -> JudgeReply:
        """Return the reply to a prompt, as JSON that fits the schema.

        A reply that does not fit is asked for once more, with what is wrong with it and the schema as text; so is one
        about which `check` raises MisfitError, without the schema. The second need only fit the schema, and may lack
        `optional` properties: the caller takes of it what can be used. One that is cut may lack these too, and counts
        where `usable_cut` is given and `check` passes.
        `prompt_version` and `draw` only distinguish requests: another draw is another call, for votes that shall be
        independent. Raises JudgeError, and ValueError for a schema that could not be checked.
        """
        if (shape := json.dumps(schema)) not in self._checked_shapes:
            check_schema(schema)
            self._checked_shapes.add(shape)
        conversation, spend, problem = messages, Spend(), ""
        for is_last in (False, True):
            key = request_key(self._settings, conversation, schema, prompt_version, draw, probabilities=probabilities)
            prompt = _Prompt(conversation, schema, shape, key, probabilities)
            completion, spent = await self._complete(prompt, spend)
            spend += spent
            self._raise_if_no_reply(completion, spend)
            try:
                if completion.is_cut:
                    return JudgeReply(read_cut(completion.text, schema, optional, check if usable_cut else None), spend)
                parsed = read(completion.text, schema, optional if is_last else frozenset(), check)
            except MisfitError as misfit:
                problem = misfit.without_text
                self._raise_if_cut(completion, spend)
                conversation = asked_again(conversation, completion.text, misfit, schema)
                continue
            if (wrong := None if is_last else misfit_of(parsed, check)) is None:
                return JudgeReply(parsed, spend, completion.probabilities)
            conversation = asked_again(conversation, completion.text, wrong)
        message = f"two replies did not fit the schema, the last at {problem}"
        self._warn_no_reply(message)
        raise JudgeError(Reason.FAILED, f"{self.name}: {message}", spend)

    async def _complete(self, prompt: _Prompt, before: Spend) -> Paid:
        """Return the completion; an error names the judge, and has what was spent `before` too."""
        try:
            return await self._cached_or_send(prompt)
        except JudgeError as error:
            raise JudgeError(error.reason, f"{self.name}: {error}", before + error.spend) from None
        except sqlite3.Error as error:
            message = f"{self.name}: no call is made or used that cannot be kept: {error}"
            raise JudgeError(Reason.UNAVAILABLE, message, before) from None

    async def _cached_or_send(self, prompt: _Prompt) -> Paid:
        """Take the completion from the file of calls, or from a call under way, or send for it."""
        if kept := self._calls.find(prompt.key):
            return completion_from_json(kept), Spend()
        running = self._running.get(prompt.key)
        if running is not None:
            return await self._of_other_caller(running)
        if self._closing:
            raise JudgeError(Reason.UNAVAILABLE, "closed")
        running = asyncio.create_task(self._shared_or_send(prompt))
        self._running[prompt.key] = running
        running.add_done_callback(lambda task: self._end(prompt.key, task))
        return await _shielded(running)

    async def _of_other_caller(self, running: asyncio.Task[Paid]) -> Paid:
        """Wait for a call that another caller has asked for, and pays."""
        try:
            completion, _ = await _shielded(running)
        except JudgeError as error:
            raise JudgeError(error.reason, str(error)) from None
        return completion, Spend()

    def _end(self, key: str, task: asyncio.Task[Paid]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # nobody may be left to ask for it

    async def _shared_or_send(self, prompt: _Prompt) -> Paid:
        """Take the completion from the replies that workers share, or send for it and share it."""
        if self._shared is None:
            return await self._negotiate_format(prompt)
        patience = self._settings.timeout + ABANDONED_SECONDS
        claim = PromptClaim(self._shared, prompt.key, patience, self._clock, self._sleep, self._chance)
        claimed = replace(prompt, claim=claim)
        return await claim.answered_or_sent(lambda: self._negotiate_format(claimed))

    async def _negotiate_format(self, prompt: _Prompt) -> Paid:
        """Send in the format that the endpoint takes; while none is known for a schema, one call at a time finds it."""
        if prompt.shape not in self._formats:
            async with self._negotiating:
                if prompt.shape not in self._formats:
                    return await self._send_with_retries(prompt, REQUEST_FORMATS)
        return await self._send_with_retries(prompt, [self._formats[prompt.shape]])

    async def _send_with_retries(self, prompt: _Prompt, formats: Sequence[RequestFormat]) -> Paid:
        """Send until there is a completion; the format of the first one is that of all with the same schema."""
        spend, attempt, waits = Spend(), 0, Backoff(first=2.0, cap=_LONGEST_BACKOFF_SECONDS)
        others = iter(formats)
        form = next(others)
        while True:
            call = self._call(prompt, form)
            try:
                completion, paid = await self._send_once(call, prompt.claim)
            except EndpointError as error:
                failure = error.failure
                self._log_circuit(error.without_text)
                if failure.paid:
                    spend += Spend(calls=1, cost=call.bound)
                if self._can_do_without(failure.refused):
                    continue
                if failure.other_format and (other := next(others, None)):
                    form = other
                    continue
                attempt += 1
                if self._closing or not failure.retry or attempt == _ATTEMPTS:
                    if failure.down or failure.busy or failure.other_format or failure.reason == Reason.UNAVAILABLE:
                        self._warn_no_reply(error.without_text)
                    # Where no request was ever taken, it is the settings that do not fit rather than this row.
                    unfit = failure.other_format and prompt.shape not in self._formats
                    raise JudgeError(Reason.UNAVAILABLE if unfit else failure.reason, str(error), spend) from None
                self._warn_of_retries(error)
                await self._sleep(self._chance.uniform(0, waits.next_delay()))
            except ClaimedError as error:
                raise ClaimedError(error.found, spend) from None
            except JudgeError as error:
                if error.reason != Reason.BUDGET or self._closing or not self._sending:
                    raise JudgeError(error.reason, str(error), spend) from None
                # Those under way count at their upper bound, and will hardly cost that much.
                await asyncio.wait(self._sending, return_when=asyncio.FIRST_COMPLETED)
            else:
                self._log_circuit("")
                self._formats[prompt.shape] = form
                return completion, spend + paid

    def _can_do_without(self, parameter: str | None) -> bool:
        may_ask_again, instead = self._parameters.without(parameter)
        if instead:
            text = "judge %r takes no parameter %s: %s"
            logger.warning(text, self.name, parameter, instead, extra={"judge": self.name})
        return may_ask_again

    def _warn_no_reply(self, why: str) -> None:
        if not self._closing and self._clock() >= self._next_warning:
            self._next_warning = self._clock() + _WARNING_SECONDS
            logger.warning("judge %r gives no answer: %s", self.name, why, extra={"judge": self.name})

    def _warn_of_retries(self, error: EndpointError) -> None:
        """Warn at once of an endpoint that does not work: the tries that follow may take minutes."""
        lasts = error.failure.down or self.throttle.is_busy
        if lasts and not self._closing and self._clock() >= self._next_retry_warning:
            self._next_retry_warning = self._clock() + _WARNING_SECONDS
            text = "judge %r does not answer: %s; it is asked again"
            logger.warning(text, self.name, error.without_text, extra={"judge": self.name})

    def _log_circuit(self, why: str) -> None:
        if self.throttle.is_open and not self._circuit_was_open:
            text = "judge %r rests after failures in a row, the last: %s; now and then a call is tried, the others fail"
            logger.warning(text, self.name, why, extra={"judge": self.name})
        elif self._circuit_was_open and not self.throttle.is_open:
            logger.info("judge %r answers again", self.name, extra={"judge": self.name})
        self._circuit_was_open = self.throttle.is_open

    def _raise_if_no_reply(self, completion: ChatCompletion, spend: Spend) -> None:
        if finish_kind(completion.finish_reason) == FinishReason.CONTENT_FILTER:
            raise JudgeError(Reason.CONTENT_FILTER, "the endpoint's filter stopped the reply", spend)
        if completion.refusal:
            raise JudgeError(Reason.REFUSED, "the model refused to answer", spend)

    def _raise_if_cut(self, completion: ChatCompletion, spend: Spend) -> None:
        if completion.is_cut:
            message = f"the reply was cut at {self._settings.max_tokens} tokens; a higher max_tokens may help"
            self._warn_no_reply(message)
            raise JudgeError(Reason.CUT, message, spend)

    def _call(self, prompt: _Prompt, form: RequestFormat) -> _Call:
        secret = self._calls.secret
        messages = [replace(message, content=with_marks(message.content, secret)) for message in prompt.messages]
        accepted, probabilities = self._parameters.settings, prompt.probabilities
        body = request(accepted, messages, prompt.schema, form, probabilities=probabilities)
        tokens = bound_of(prompt.shape, (message["content"] for message in body["messages"]))
        return _Call(prompt.key, body, tokens, self._settings.cost(tokens, self._settings.max_tokens))

    async def _send_once(self, call: _Call, claim: PromptClaim | None) -> Paid:
        """Send when it is the call's turn; it is in the file of calls before it is made, and paid when it is used."""
        booked = call.prompt_tokens + self._settings.max_tokens
        async with self.throttle.turn(booked, lambda: self._check(call)):
            await self._take(claim, booked)
            number = await self._begin(call)
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 - for the type
            self._sending.add(task)
            try:
                completion = await self._endpoint.send(call.body)
            except EndpointError as error:
                if not error.failure.paid:
                    self._calls.release(number)
                    self.throttle.give_back(booked)
                raise
            finally:
                self._sending.discard(task)
            spend = self._spend(completion, call)
            self._calls.finish(number, completion.to_json(), spend.cost)
        self.throttle.give_back(booked - min(booked, spend.prompt_tokens + spend.completion_tokens))
        return completion, spend

    async def _take(self, claim: PromptClaim | None, booked: int) -> None:
        """Claim the prompt before money is reserved for it; what was booked is given back where another worker asks."""
        try:
            if claim is not None:
                await claim.take()
        except ClaimedError:
            self.throttle.give_back(booked, requests=1)
            raise

    def _check(self, call: _Call) -> None:
        """Refuse before the call waits for its time; what comes while it waits, `_begin` sees."""
        settings = self._settings
        if (problem := settings.price_problem()) is not None:
            raise JudgeError(Reason.UNPRICED, problem)
        try:
            self._calls.check(self.name, call.bound, settings.budget_per_hour, settings.budget_per_day)
        except BudgetSpentError as error:
            if error.for_good:
                self._warn_no_reply(str(error))
            raise JudgeError(Reason.BUDGET, str(error)) from None

    async def _begin(self, call: _Call) -> int:
        settings = self._settings
        try:
            if self._slices is not None:
                return await self._slices.begin(call.key, call.bound)
            return self._calls.begin(self.name, call.key, call.bound, settings.budget_per_hour, settings.budget_per_day)
        except BudgetSpentError as error:
            raise JudgeError(Reason.BUDGET, str(error)) from None
        except UnreservableError as error:
            raise JudgeError(Reason.UNAVAILABLE, str(error)) from None

    def _spend(self, completion: ChatCompletion, call: _Call) -> Spend:
        # DIAL writes zeros where a model does not count its tokens.
        prompt = completion.prompt_tokens or call.prompt_tokens
        written = completion.completion_tokens or tokens_of(completion.text)
        cached = min(completion.cached_prompt_tokens, prompt)
        return Spend(1, prompt, cached, written, self._settings.cost(prompt, written, cached))


async def _shielded(running: asyncio.Task[Paid]) -> Paid:
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if running.cancelled():
            raise JudgeError(Reason.UNAVAILABLE, "closed before there was a reply") from None
        raise
