"""Metrics of applications that act and of those that keep to their subject, which ask a judge about a whole turn."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, YES_OR_NO, Prompt, because, list_of, object_of
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.llm import verdicts
from evaluator.metrics.llm.prompt_metric import prompt_metric
from evaluator.metrics.llm.transcripts import MOST_TOKENS, SHOWN, first_and_last, shortened, tokens
from evaluator.metrics.llm.verdicts import Judged, Verdict
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import UnscoredReason

Asked = Generator[list[JudgeRequest], list[Any], Score | tuple[Judged, dict[str, Any]]]

_MOST_OF_A_TEXT = MOST_TOKENS // 8
"""Tokens of a question, of an answer and of a reference answer."""
_MOST_OF_A_CALL = MOST_TOKENS // 16
_MOST_OF_ALL_CALLS = MOST_TOKENS - 3 * _MOST_OF_A_TEXT

_GOALS, _GOALS_WITH_REFERENCE = (
    {
        reasons: Prompt.read(
            name, object_of(goal=TEXT, end_state=TEXT, **because(reasons), reached=YES_OR_NO), reasons=reasons
        )
        for reasons in (False, True)
    }
    for name in ("goal", "goal_with_reference")
)
_TOPICS = Prompt.read("topics", object_of(topics=list_of(object_of(topic=TEXT, allowed=YES_OR_NO, answered=YES_OR_NO))))
_EMPTY = "null with `no_answer`; a refusal is judged as any other answer"


def _goal(metric: Any, prompts: Any) -> tuple[str, ...]:
    return prompts[metric.gives_reasons].version, SHOWN


@prompt_metric(
    Description(
        asks="Did the user get what they wanted?",
        formula="1 if a judge finds that what the user has after the turn is what they wanted, else 0",
        source="ragas 0.4.3 (AgentGoalAccuracyWithoutReference)",
        odd_cases=OddCases(empty_answer=_EMPTY),
        binary=True,
        disagreement="ragas asks twice: for goal and end state, and whether they are the same; here it is one call.",
        aliases=("ragas_agent_goal_accuracy",),
    ),
    needs=("question", "answer"),
    optional=("tool_calls",),
    prompts=lambda metric: _goal(metric, _GOALS),
)
def goal_accuracy(
    question: str | None, answer: str | None, calls: Sequence[ToolCall] | None, *, gives_reasons: bool
) -> Asked:
    """1.0 if the user's goal is reached at the end of the turn, else 0.0.

    The judge reads the question, the calls of tools with what they gave back, and the answer: 8,000 tokens at most; of
    long texts the beginning and the end, of many calls the first and the last. The details have the goal and the end
    state in the judge's words.
    """
    return (yield from _reached(_GOALS[gives_reasons], question, answer, calls))


@prompt_metric(
    Description(
        asks="Did the user get what the accepted answer to the same question gives?",
        formula="1 if a judge finds that what the user has after the turn is what the reference answer tells, else 0",
        source="ragas 0.4.3 (AgentGoalAccuracyWithReference)",
        odd_cases=OddCases(empty_answer=_EMPTY, no_reference="null with `no_ground_truth`"),
        binary=True,
        disagreement="ragas asks twice: for the end state, and whether it is the reference; here it is one call.",
        aliases=("ragas_agent_goal_accuracy_with_reference",),
    ),
    needs=("question", "answer", "reference_answers"),
    optional=("tool_calls",),
    prompts=lambda metric: _goal(metric, _GOALS_WITH_REFERENCE),
)
def goal_accuracy_with_reference(
    question: str | None,
    answer: str | None,
    references: Sequence[str] | None,
    calls: Sequence[ToolCall] | None,
    *,
    gives_reasons: bool,
) -> Asked:
    """1.0 if the turn ends as the reference answer tells, else 0.0; see `goal_accuracy`.

    Of several reference answers the first is read.
    """
    reference = next((one for one in references or () if one.strip()), None)
    if reference is None:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    return (yield from _reached(_GOALS_WITH_REFERENCE[gives_reasons], question, answer, calls, reference))


def _reached(
    prompt: Prompt, question: str | None, answer: str | None, calls: Any, reference: str | None = None
) -> Asked:
    if missing := _missing(question, answer):
        return Score(None, missing)
    texts = [_fenced("question", question), fenced("call", *_shown(calls or ())), _fenced("answer", answer)]
    texts += [] if reference is None else [_fenced("reference", reference)]
    (reply,) = yield [prompt.request(*texts)]
    details = {name: reply[name] for name in ("goal", "end_state", "reason") if name in reply} if reply else {}
    return verdicts.aspect_critique([None if reply is None else reply["reached"]]), details


def _missing(question: str | None, answer: str | None) -> UnscoredReason | None:
    if answer is None or not answer.strip():
        return UnscoredReason.NO_ANSWER
    return UnscoredReason.NO_QUESTION if question is None or not question.strip() else None


def _fenced(name: str, text: str | None) -> str:
    return fenced(name, shortened(text or "", _MOST_OF_A_TEXT))


def _shown(calls: Sequence[ToolCall]) -> list[str]:
    """Return the calls as texts: all, or the first and the last ones that are short enough together."""
    texts = [_call(one) for one in calls]
    places = first_and_last([tokens(one) for one in texts], _MOST_OF_ALL_CALLS)
    left_out = len(texts) - len(places)
    shown = [texts[place] for place in places]
    return [*shown[:1], f"({left_out} calls are left out)", *shown[1:]] if left_out else shown


def _call(call: ToolCall) -> str:
    result, is_error = call.get("result"), call.get("is_error")
    gave = "it is not known what it gave back" if result is None else shortened(result, _MOST_OF_A_CALL)
    arguments = shortened(call.get("arguments") or "", _MOST_OF_A_CALL)
    return f"{call.get('name') or '(no name)'}({arguments})\n{'FAILED: ' if is_error else '-> '}{gave}"


def _described(asks: str, formula: str, nothing: str) -> dict[str, Any]:
    about = Description(
        asks=asks,
        formula=f"{formula}; a judge says which topics the user asked about, which of them are allowed and which "
        f"the answer takes up. Null with `no_topics` where no topics are configured, and with {nothing}",
        source="ragas 0.4.3 (TopicAdherence)",
        odd_cases=OddCases(empty_answer=_EMPTY),
        disagreement="ragas adds 1e-10 to denominators, asks once a topic and twice more, and says 0 where there is "
        "nothing.",
    )
    return {
        "about": about,
        "needs": ("question", "answer"),
        "prompts": lambda metric: (_TOPICS.version, SHOWN, *metric.topics),
    }


def _topics(
    question: str | None,
    answer: str | None,
    topics: Sequence[str],
    judged: Callable[[Sequence[Verdict], Sequence[Verdict]], Judged],
) -> Asked:
    """Ask about topics; what is asked by several metrics is paid once."""
    if not topics:
        return Score(None, UnscoredReason.NO_TOPICS)
    if missing := _missing(question, answer):
        return Score(None, missing)
    texts = fenced("allowed", *topics), _fenced("question", question), _fenced("answer", answer)
    (reply,) = yield [_TOPICS.request(*texts)]
    if reply is None:
        return Judged.between(0.0, 1.0), {}
    found = reply["topics"]
    allowed, answered = ([one[name] for one in found] for name in ("allowed", "answered"))
    return judged(allowed, answered), {"topics": found}


def _topics_option() -> tuple[str, ...]:
    return option((), "what the application may talk about; in the service `evaluator.deployments.<name>.topics`")


@prompt_metric(
    **_described(
        "Does the application keep to its topics, and does it answer on them?",
        "2 · topics answered and allowed / (topics answered + topics allowed)",
        "`nothing_allowed` where none was answered and none is allowed",
    )
)
def topic_adherence_f1(
    question: str | None, answer: str | None, *, topics: tuple[str, ...] = _topics_option()
) -> Asked:
    """F1 of the topics that the answer takes up and those that it may, 0 to 1, higher is better.

    The details have the topics that the user asked about, in the judge's words.
    """
    return (yield from _topics(question, answer, topics, verdicts.topic_adherence_f1))


@prompt_metric(
    **_described(
        "Which share of the topics that the application talks about are its own?",
        "topics answered and allowed / topics answered",
        "`nothing_answered` where none was answered",
    )
)
def topic_adherence_precision(
    question: str | None, answer: str | None, *, topics: tuple[str, ...] = _topics_option()
) -> Asked:
    """Share of the topics that the answer takes up which are allowed, 0 to 1; see `topic_adherence_f1`."""
    return (yield from _topics(question, answer, topics, verdicts.topic_adherence_precision))


@prompt_metric(
    **_described(
        "Does the application answer what it may talk about?",
        "topics answered and allowed / topics allowed",
        "`nothing_allowed` where none is allowed",
    )
)
def topic_adherence_recall(
    question: str | None, answer: str | None, *, topics: tuple[str, ...] = _topics_option()
) -> Asked:
    """Share of the allowed topics that the user asked about which the answer takes up; see `topic_adherence_f1`."""
    return (yield from _topics(question, answer, topics, verdicts.topic_adherence_recall))
