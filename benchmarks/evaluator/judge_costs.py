"""Calls and tokens that judged metrics take for one row, beside ragas 0.4.3 at the same server.

    DIALWATCH_RAGAS_PYTHON=... python -m benchmarks.evaluator.judge_costs [--sentences 6 12] [--chunks 10 20]

A local server answers every prompt in the shape that it asks for: one claim a sentence, reasons of 16 words where
reasons are asked for. It keeps what was sent. `prompt` is the tokens of the messages' texts, `with schema` also those
of the schema that is sent beside them: ours without blanks, as it is on the wire; for ragas a message that its client
adds (instructor), while its own text has the schema too. `again` is the tokens that an earlier call of the same line
began with, where that is 1,024 or more: what providers' prefix caches can serve. `chunks` is how often each chunk was
sent. Lines stand for themselves: no reply is taken from another line's.

Texts are from the demo's records. Tokens are cl100k's by `bpe-openai` where that is installed, else a quarter of the
characters. ragas is not part of the project: DIALWATCH_RAGAS_PYTHON names an interpreter that has it, or it is taken
from this one; where it is not there, its lines are left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.evaluator.judge_row import Row, reply
from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.settings import JudgeSettings
from evaluator.metrics import REGISTRY, compute
from evaluator.metrics.llm.claim_metric import ClaimMetric
from evaluator.models import Models
from tests.evaluator.judges.scripted_server import Request, Send, Stage, says, serving
from tests.evaluator.models.real_encoder import real_encoder

Count = Callable[[str], int]
_CACHED_FROM = 1024

THREE = ("faithfulness_claims", "answer_relevance_sentences", "context_precision_question")
SIX = (
    "faithfulness_claims", "answer_relevance_sentences", "context_precision", "context_recall",
    "noise_sensitivity_relevant", "answer_correctness_claims",
)  # fmt: skip
APART = "faithfulness_claims_apart"
OF_CLAIMS = tuple(name for name, metric in REGISTRY.items() if isinstance(metric, ClaimMetric) and name != APART)
OTHERS = (APART, "answer_relevancy", "context_relevance_sentences", "context_entity_recall", "aspect_harmfulness")
_REASONS = ", with reasons"
OURS: Mapping[str, Sequence[str]] = {
    "three": THREE, "six": SIX, f"all {len(OF_CLAIMS)} of claims": OF_CLAIMS,
} | {name: (name,) for name in OTHERS} | {f"three{_REASONS}": THREE, f"six{_REASONS}": SIX}  # fmt: skip

RAGAS_THREE = ("faithfulness", "answer_relevancy", "context_precision")
RAGAS_SIX = (*RAGAS_THREE, "context_recall", "noise_sensitivity", "answer_correctness")
_RAGAS = """
import asyncio, inspect, json, sys
from openai import AsyncOpenAI
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms import llm_factory
from ragas.metrics.collections import (
    AnswerCorrectness, AnswerRelevancy, ContextPrecision, ContextRecall, Faithfulness, NoiseSensitivity,
)

class Embedding(BaseRagasEmbedding):
    def embed_text(self, text, **_):
        return [1.0]

    async def aembed_text(self, text, **_):
        return [1.0]

cells = json.load(sys.stdin)
row = {
    "user_input": cells["question"], "retrieved_contexts": cells["contexts"],
    "response": cells["answer"], "reference": cells["reference"],
}
KINDS = Faithfulness, AnswerRelevancy, ContextPrecision, ContextRecall, NoiseSensitivity, AnswerCorrectness

async def main():
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
    for kind, name in zip(KINDS, sys.argv[2:], strict=True):
        given = {"llm": llm_factory(f"ragas {name}", client=client)}
        if kind in (AnswerRelevancy, AnswerCorrectness):
            given["embeddings"] = Embedding()
        metric = kind(**given)
        await metric.ascore(**{one: row[one] for one in inspect.signature(metric.ascore).parameters})

asyncio.run(main())
"""


@dataclass(frozen=True)
class CallCost:
    """What some calls took."""

    calls: int = 0
    prompt: int = 0
    with_schema: int = 0
    again: int = 0
    output: int = 0
    chunks: float = 0.0

    def __add__(self, other: CallCost) -> CallCost:
        return CallCost(*(one + two for one, two in zip(self._numbers, other._numbers, strict=True)))

    @property
    def _numbers(self) -> Sequence[Any]:
        return tuple(vars(self).values())


@dataclass(frozen=True)
class Call:
    """What was sent: all messages, those that are not for the schema alone, the schema; and what was said."""

    messages: str
    own: str
    schema: str
    said: str


@dataclass(frozen=True)
class Counted:
    """What a server was asked and said, by the model's name."""

    row: Row
    count: Count
    calls: dict[str, list[Call]]

    async def __call__(self, request: Request, send: Send) -> None:
        """Answer, and keep what was asked and said."""
        said = reply(self.row, request.body)
        messages = [message["content"] for message in request.body["messages"]]
        asked = request.body["response_format"]
        if asked["type"] == "json_schema":
            schema, own = json.dumps(asked["json_schema"]["schema"], separators=(",", ":")), messages
        else:
            schema, *own = messages
        self.calls[request.body["model"]].append(Call("\n".join(messages), "\n".join(own), schema, said))
        await says(said)(request, send)

    def cost(self, name: str) -> CallCost:
        """Sum the calls of a model."""
        calls = self.calls[name]
        return sum((self._cost(call, calls[:number]) for number, call in enumerate(calls)), CallCost())

    def _cost(self, call: Call, before: Sequence[Call]) -> CallCost:
        prompt, chunks = self.count(call.own), self.row.contexts
        begun = max((self.count(_begin([call.messages, one.messages])) for one in before), default=0)
        sent = sum(chunk in call.own or json.dumps(chunk)[1:-1] in call.own for chunk in chunks)
        return CallCost(
            calls=1,
            prompt=prompt,
            with_schema=prompt + self.count(call.schema),
            again=begun if begun >= _CACHED_FROM else 0,
            output=self.count(call.said),
            chunks=sent / len(chunks),
        )


def _begin(texts: Sequence[str]) -> str:
    return commonprefix(texts)  # noqa: RUF071 - characters are meant


def counter() -> tuple[Count, str]:
    """Give what counts tokens, and its name."""
    try:
        encoding = importlib.import_module("bpe_openai").get_encoding("cl100k_base")
    except ModuleNotFoundError:
        return (lambda text: len(text) // 4), "a quarter of the characters (bpe-openai is not there)"
    return (lambda text: len(encoding.encode(text))), "cl100k (bpe-openai)"


def ask_ours(url: str, row: Row) -> None:
    """Score a row by each line's metrics, with a judge and a file of calls of its own."""
    known = row.as_json()
    cells = {name: known[name] for name in ("question", "contexts", "answer")}
    frame = pd.DataFrame([cells | {"reference_answers": [known["reference"]]}])
    models = Models(sentence_encoder=real_encoder(), device="cpu")
    judges = {
        name: JudgeSettings(base_url=url, model=name, allow_unpriced=True, reasons=name.endswith(_REASONS))
        for name in OURS
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, metrics in OURS.items():
            with JudgeClient(judges, Path(folder) / f"{name}.sqlite") as client:
                scores = compute(frame, metrics, models, client.judge(name))
                assert scores[list(metrics)].notna().all().all(), scores.iloc[0].to_dict()


def ask_ragas(python: str, url: str, row: Row) -> None:
    """Score a row by ragas."""
    command = [python, "-c", _RAGAS, url, *RAGAS_SIX]
    subprocess.run(command, input=json.dumps(row.as_json()), text=True, env=_environment(), check=True)


def ragas() -> tuple[str, str] | None:
    """Give the interpreter that has ragas, and the versions of what makes its prompts."""
    python = os.environ.get("DIALWATCH_RAGAS_PYTHON", sys.executable)
    asked = 'from importlib.metadata import version as v; print(f\'ragas {v("ragas")}, instructor {v("instructor")}\')'
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, env=_environment(), check=False)
    return None if done.returncode else (python, done.stdout.strip())


def _environment() -> dict[str, str]:
    """Without the project, and with ragas' own reports of its use to its makers switched off."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"RAGAS_DO_NOT_TRACK": "true"}


def lines(counted: Counted, with_ragas: bool) -> Iterable[tuple[str, CallCost]]:
    """Give the lines of the table."""
    for name in OURS:
        yield name, counted.cost(name)
    if with_ragas:
        of_each = {name: counted.cost(f"ragas {name}") for name in RAGAS_SIX}
        yield "ragas: three", sum((of_each[name] for name in RAGAS_THREE), CallCost())
        yield "ragas: six", sum(of_each.values(), CallCost())
        for name, cost in of_each.items():
            yield f"ragas: {name}", cost


def main() -> None:
    """Ask about each row, and print what that took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sentences", type=int, nargs="*", default=[6, 12])
    parser.add_argument("--chunks", type=int, nargs="*", default=[10, 20])
    arguments = parser.parse_args()
    count, counts = counter()
    peer = ragas()
    print(f"tokens: {counts}")
    print(peer[1] if peer else "without ragas: it is not there, DIALWATCH_RAGAS_PYTHON may name a Python that has it")
    with serving() as stage:
        for sentences in arguments.sentences:
            for chunks in arguments.chunks:
                _print(stage, Row.of(sentences, chunks, count), count, peer and peer[0])


def _print(stage: Stage, row: Row, count: Count, python: str | None) -> None:
    counted = Counted(row, count, defaultdict(list))
    stage.fresh().always = counted
    url = f"{stage.playing.url}/v1"
    ask_ours(url, row)
    if python:
        ask_ragas(python, url, row)
    tokens = sum(map(count, row.contexts))
    print(f"\n{len(row.answer)} sentences, {len(row.contexts)} chunks of together {tokens:,} tokens")
    print(f"{'metrics':<32}{'calls':>6}{'prompt':>9}{'with schema':>13}{'again':>9}{'output':>9}{'chunks':>8}")
    for name, cost in lines(counted, python is not None):
        print(
            f"{name:<32}{cost.calls:>6}{cost.prompt:>9,}{cost.with_schema:>13,}{cost.again:>9,}{cost.output:>9,}"
            f"{cost.chunks:>8.1f}"
        )


if __name__ == "__main__":
    main()
