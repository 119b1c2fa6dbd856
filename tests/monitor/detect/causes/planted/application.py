"""What an application asks of its models, before and after a change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tests.monitor.detect.causes.planted.kinds import Planted, PromptStyle

_RULES = (
    "You answer questions of employees from the passages that are given.",
    "Name the document of each statement.",
    "If the passages do not hold the answer, say so.",
    "Answer in the language of the question.",
    "Do not give legal advice.",
    "Keep tables as tables.",
)
_NEW_RULES = (
    "Answer in at most three sentences.",
    "Use your own knowledge where the passages are not enough.",
    "Be friendly and begin with a greeting.",
)
_TOOLS = ("convert_currency", "count_working_days", "find_colleague")


@dataclass(frozen=True)
class Application:
    """Settings and habits of an application at one time."""

    style: PromptStyle
    system_prompt: str
    tools: tuple[str, ...]
    model_deployment: str = "gpt-4o"
    model: str = "gpt-4o-2024-08-06"
    temperature: float = 0.2
    top_p: float | None = None
    chunks: int = 8
    context_length: float = 1.0
    without_new_documents: bool = False
    unretrieved: float = 0.05
    latency: float = 1.0
    cut: float = 0.01
    child_errors: float = 0.005
    reranker: str | None = None
    answer_length: float = 1.0


def application(random: np.random.Generator) -> Application:
    """Give an application with some rules in its system prompt, and with tools or without."""
    rules = [_RULES[0], *(rule for rule in _RULES[1:] if random.random() < 0.6)]
    style = PromptStyle(random.choice(list(PromptStyle), p=[0.6, 0.2, 0.2]))
    return Application(
        style, " ".join(rules), _TOOLS[: random.integers(0, 3)], temperature=float(random.choice([0.0, 0.2]))
    )


def changed(before: Application, planted: Planted, random: np.random.Generator) -> Application:
    """Give the application after a change; one of its users changes nothing here."""
    match planted:
        case Planted.MODEL:
            if random.random() < 0.5:
                return replace(before, model="gpt-4o-2024-11-20", latency=before.latency * 0.9)
            return replace(
                before, model_deployment="gpt-4o-mini", model="gpt-4o-mini-2024-07-18", latency=before.latency * 0.7
            )
        case Planted.PARAMETER:
            if random.random() < 0.7:
                return replace(before, temperature=float(random.choice([0.7, 1.0])))
            return replace(before, top_p=0.5)
        case Planted.SYSTEM_PROMPT:
            added = f"{before.system_prompt} {random.choice(_NEW_RULES)}"
            return replace(before, system_prompt=added, answer_length=before.answer_length * 0.85)
        case Planted.TOOLS:
            return replace(before, tools=(*before.tools, _TOOLS[len(before.tools)]))
        case Planted.CHUNKS:
            return replace(before, chunks=3)
        case Planted.CONTEXT_LENGTH:
            return replace(before, context_length=0.4)
        case Planted.DOCUMENTS:
            return replace(before, without_new_documents=True)
        case Planted.RETRIEVAL:
            return replace(before, unretrieved=0.4)
        case Planted.LATENCY:
            return replace(before, latency=before.latency * 2)
        case Planted.FINISH_REASONS:
            return replace(before, cut=0.15)
        case Planted.CHILD_ERRORS:
            return replace(before, child_errors=0.15)
        case Planted.DEPLOYMENT_CALLED:
            return replace(before, reranker="bge-reranker")
        case Planted.LANGUAGE | Planted.CLIENT:
            return before
