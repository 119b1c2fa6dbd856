"""Metrics of a whole conversation, which ask a judge once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced_parts
from evaluator.judges.prompts import NUMBER, TEXT, YES_OR_NO, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.cells import Turn
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.llm import verdicts
from evaluator.metrics.llm.claims.answer_claims import once_each
from evaluator.metrics.llm.prompt_metric import prompt_metric
from evaluator.metrics.llm.transcripts import MOST_TOKENS, SHOWN, first_and_last, shortened, tokens
from evaluator.metrics.llm.verdicts import Judged, Verdict
from evaluator.metrics.scores import CONVERSATION, Score
from lake.spec.vocabulary import UnscoredReason

Asked = Generator[list[JudgeRequest], list[Any], Score | tuple[Judged, dict[str, Any]]]

_PROMPT = Prompt.read(
    "conversation",
    object_of(
        intents=list_of(object_of(intent=TEXT, met=YES_OR_NO)),
        turns=list_of(object_of(turn=NUMBER, forgot=YES_OR_NO, repeats=YES_OR_NO)),
    ),
)
_OPTIONAL = frozenset({"met", "forgot", "repeats"})
"""Verdicts that a reply may lack: they are left out."""
_MOST_OF_A_TEXT = MOST_TOKENS // 8
_NO_TEXT = "(no text)"


def _shown(turns: Sequence[Turn]) -> list[int]:
    """Return the places of the turns that the judge is shown."""
    return first_and_last([sum(tokens(_short(text)) for text in turn) for turn in turns], MOST_TOKENS)


def _short(text: str | None) -> str:
    return shortened(text, _MOST_OF_A_TEXT) if text and text.strip() else _NO_TEXT


def _parts(turns: Sequence[Turn], places: Sequence[int]) -> list[tuple[str, str]]:
    """Return the texts with their labels: `user 1`, `assistant 1`, `user 2` ..."""
    parts: list[tuple[str, str]] = []
    before = -1
    for place in places:
        if place > before + 1:
            parts.append(("turns", f"({place - before - 1} turns are left out)"))
        before = place
        texts = zip(("user", "assistant"), turns[place], strict=True)
        parts += [(f"{name} {place + 1}", _short(text)) for name, text in texts]
    return parts


def _judged(turns: Sequence[Turn] | None, judged: Callable[[Mapping[str, Sequence[Verdict]]], Judged]) -> Asked:
    """Ask about a conversation; what is asked by several metrics is paid once."""
    if turns is None or len(turns) < 2:
        return Score(None, UnscoredReason.ONE_TURN)
    places = _shown(turns)
    numbers = [place + 1 for place in places]
    transcript = fenced_parts("conversation", *_parts(turns, places))
    (reply,) = yield [_PROMPT.request(transcript, check=partial(_check, numbers), optional=_OPTIONAL)]
    if reply is None:
        return Judged.between(0.0, 1.0), {"turns": len(turns)}
    by_turn = once_each(reply["turns"], "turn")
    found: dict[str, list[Verdict]] = {"met": [one.get("met") for one in reply["intents"]]}
    found |= {name: [by_turn.get(number, {}).get(name) for number in numbers] for name in ("forgot", "repeats")}
    named = {
        name: [n for n, is_so in zip(numbers, found[name], strict=True) if is_so] for name in ("forgot", "repeats")
    }
    details = {"turns": len(turns), "intents": reply["intents"], **named}
    return judged(found), details | ({"left_out": len(turns) - len(places)} if len(places) < len(turns) else {})


def _check(numbers: Sequence[int], reply: Any) -> None:
    for i, given in enumerate(reply["turns"]):
        if given["turn"] not in numbers:
            raise MisfitError(f"turns[{i}].turn", f"there is no reply {given['turn']}")
    if not reply["turns"]:
        raise MisfitError("turns", f"the replies are {', '.join(map(str, numbers))}")


def _described(
    asks: str, formula: str, source: str, *, direction: Any = "up", disagreement: str = ""
) -> dict[str, Any]:
    about = Description(
        asks=asks,
        formula=f"{formula}; a judge gives the verdicts. Null with `one_turn` where the conversation has but one",
        source=source,
        odd_cases=OddCases(empty_answer="the judge is shown that there is no text"),
        direction=direction,
        disagreement=disagreement,
    )
    return {"about": about, "needs": (CONVERSATION,), "prompts": lambda _: (_PROMPT.version, SHOWN)}


@prompt_metric(
    **_described(
        "Did people get what they wanted by the end of the conversation?",
        "intents of the user that were met / intents; null with `no_intents` where there are none",
        "DeepEval 4.3.1 (ConversationCompletenessMetric)",
        disagreement="DeepEval asks once for the intents and once for each of them, and says 1 where there are none.",
    )
)
def conversation_completeness(turns: Sequence[Turn] | None) -> Asked:
    """Share of what the user wanted in a conversation that they got, 0 to 1, higher is better.

    The judge reads 8,000 tokens at most: the first turn and the last ones; of long texts the beginning and the end. The
    details have the intents in the judge's words, the numbers of the turns that forgot or repeated something, and how
    many turns there are and were left out.
    """
    return (yield from _judged(turns, lambda found: verdicts.conversation_completeness(found["met"])))


@prompt_metric(
    **_described(
        "Does the application remember what the user has said before?",
        "1 - turns of the assistant that forgot something / turns of the assistant that the judge read",
        "DeepEval 4.3.1 (KnowledgeRetentionMetric)",
        disagreement="DeepEval asks twice a turn, and says 1 where there are none.",
    )
)
def knowledge_retention(turns: Sequence[Turn] | None) -> Asked:
    """Share of the assistant's turns that forgot nothing, 0 to 1, higher is better; see `conversation_completeness`."""
    return (yield from _judged(turns, lambda found: verdicts.knowledge_retention(found["forgot"])))


@prompt_metric(
    **_described(
        "Does the application say the same again and again?",
        "turns of the assistant that say again what it had said before, without being asked to / turns of the "
        "assistant that the judge read",
        "dialwatch",
        direction="down",
    )
)
def repetition(turns: Sequence[Turn] | None) -> Asked:
    """Share of the assistant's turns that repeat, 0 to 1, lower is better; see `conversation_completeness`."""
    return (yield from _judged(turns, lambda found: verdicts.repetition(found["repeats"])))
