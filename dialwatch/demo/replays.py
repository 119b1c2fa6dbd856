"""Replays of the demo: cases are accepted by a rule, and asked again of the application, whole and broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from aidial_sdk import DIALApp
from aidial_sdk.chat_completion import ChatCompletion, Request, Response
from pydantic import SecretStr

from dialwatch.demo.agent import AGENT, answer
from dialwatch.demo.checks import Check
from dialwatch.demo.questions import load_questions
from dialwatch.demo.rag.application import create_app
from dialwatch.demo.rag.assistant import RagAssistant
from dialwatch.demo.rag.faults import Faults
from dialwatch.demo.rag.passages import passages_of
from dialwatch.demo.traffic import document_urls
from dialwatch.services.replaying import read_reply
from dialwatch.serving.server import BackgroundServer
from evaluator.metrics import metric_named
from evaluator.replays import DialDeployment, ReplayDeployment, ReplayRun, ReplaySettings, replay
from lake.queries.ground_truth.case_versions import change_cases, is_doubted
from lake.spec.case_vocabulary import CaseStatus, FailedPart, ReplayVerdict
from lake.tables.lake import Lake

WHO = "demo"
_RULE = (
    "accepted by rule: people liked its answer, which was given while no incident was open, and its facts stand in "
    "what was retrieved, or tools were called for it"
)
_WHOLE_RUNS = 4
"""Runs of the application as it should be: they show how much runs differ."""

_METRICS = ("facts_recall", "answer_correctness_token_recall")


@dataclass(frozen=True)
class Broken:
    """How the application is broken for a run, and the part that should be named."""

    faults: Faults
    part: FailedPart


PLANTED = (
    Broken(Faults(retrieval="other_index"), FailedPart.RETRIEVAL),
    Broken(Faults(generation="wrong_sentences"), FailedPart.GENERATION),
)


def accept_by_rule(lake: Lake, deployment: str, now: datetime) -> int:
    """Accept the proposed cases that have facts or calls of tools, and that are not doubted; return how many."""

    def change(cases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        proposed = (one for one in cases.values() if one["status"] == CaseStatus.PROPOSED and not is_doubted(one))
        found = filter(_can_tell, proposed)
        return {one["case_id"]: {"status": CaseStatus.ACCEPTED, "note": _RULE} for one in found}

    return len(change_cases(lake, deployment, change, WHO, now))


def _can_tell(case: Mapping[str, Any]) -> bool:
    """Whether a case can tell which part failed."""
    return bool(case["facts"] or case["tool_calls"])


class AgentChatCompletion(ChatCompletion):
    """The demo's agent over HTTP; `is_broken` says that its orders' tool times out."""

    is_broken = False

    async def chat_completion(self, request: Request, response: Response) -> None:
        """Answer the last message, with the calls of tools in the state."""
        found = answer(request.messages[-1].text(), is_broken=self.is_broken)
        with response.create_single_choice() as choice:
            choice.append_content(found.text)
            choice.set_state(found.state)


def run_replays(lake: Lake, deployment: str, planted: Iterable[Broken] = PLANTED) -> Check:
    """Accept cases, ask them of the application as it should be, then broken in each way, over HTTP on loopback."""
    texts = [question.knowledge for question in load_questions()]
    assistant = RagAssistant(passages_of(texts, document_urls()[deployment]))
    breaks = [(one.part, partial(setattr, assistant, "faults", one.faults)) for one in planted]
    return _replayed(lake, deployment, create_app({deployment: assistant}), breaks)


def run_agent_replays(lake: Lake) -> Check:
    """Accept cases of the agent, and ask them again: of the agent as it should be, then with a broken tool."""
    agent, app = AgentChatCompletion(), DIALApp()
    app.add_chat_completion(AGENT, agent)
    return _replayed(lake, AGENT, app, [(FailedPart.TOOL, partial(setattr, agent, "is_broken", True))])


def _replayed(
    lake: Lake, deployment: str, app: DIALApp, breaks: Iterable[tuple[FailedPart, Callable[[], None]]]
) -> Check:
    accepted = accept_by_rule(lake, deployment, datetime.now(UTC))
    with BackgroundServer(app, "127.0.0.1:0") as server:
        keys = {deployment: ReplayDeployment(api_key=SecretStr("demo"))}
        settings = ReplaySettings(base_url=server.url, deployments=keys)
        whole = [_run(lake, deployment, settings) for _ in range(_WHOLE_RUNS)]
        verdicts = [run.verdict for run in whole if run is not None]
        is_found = verdicts == [ReplayVerdict.BASELINE] + [ReplayVerdict.NO_REGRESSION] * (_WHOLE_RUNS - 1)
        found = [f"{accepted} cases accepted"]
        for expected, breaks_it in breaks:
            breaks_it()
            run = _run(lake, deployment, settings)
            part, count, total = _part(run)
            is_found = is_found and run is not None and run.verdict == ReplayVerdict.REGRESSION and part == expected
            verdict = run.verdict if run else "no run"
            found.append(f"{expected} broken: {verdict}, {part or 'nothing'} failed in {count} of {total}")
    return Check(f"cases of {deployment} that are asked again name the broken part", "; ".join(found), is_found)


def _run(lake: Lake, deployment: str, settings: ReplaySettings) -> ReplayRun | None:
    asked = DialDeployment(deployment, settings, read_reply)
    return replay(lake, deployment, asked, settings, [metric_named(name) for name in _METRICS])


def _part(run: ReplayRun | None) -> tuple[FailedPart | None, int, int]:
    """Return the part that failed most often, in how many answers, of how many that failed."""
    scores = (score for row in (run.rows if run else ()) for score in row["scores"])
    parts = Counter(FailedPart(score["failed_part"]) for score in scores if score["failed_part"])
    part, count = next(iter(parts.most_common(1)), (None, 0))
    return part, count, parts.total()
