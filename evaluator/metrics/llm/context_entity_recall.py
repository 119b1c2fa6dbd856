"""Context entity recall: do the contexts name whom and what the reference answer names?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.cells import context_texts, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.llm.claims import RowTexts
from evaluator.metrics.llm.claims.answer_claims import contexts_of
from evaluator.metrics.llm.prompt_metric import PromptMetric
from evaluator.metrics.llm.verdicts import Judged, Verdict
from evaluator.metrics.llm.verdicts.judged import any_of, flag, share
from evaluator.metrics.scores import Metric, Score
from lake.spec.vocabulary import UnscoredReason

_PROMPT = Prompt.read("entities", object_of(entities=list_of(object_of(entity=TEXT, chunks=list_of(NUMBER)))))


@dataclass(frozen=True)
class ContextEntityRecall(PromptMetric[RowTexts]):
    """Share of the reference answer's entities that the contexts name too, 0 to 1, higher is better.

    The judge names the contexts of each entity by number; where none of them exists, the verdict is missing. Of several
    reference answers the first is read. The details have the entities and the ranks of their contexts, from 0.
    """

    name = "context_entity_recall"
    needs = ("contexts", "reference_answers")
    about = Description(
        asks="Do the contexts name the people, places and things of the reference answer?",
        formula="distinct entities of the reference answer that a context names / distinct entities of the reference "
        "answer",
        source="ragas 0.4.3 (ContextEntityRecall)",
        odd_cases=OddCases(
            no_contexts="null with `no_contexts`",
            duplicate_contexts="no difference",
            no_reference="null with `no_ground_truth`; `no_entities` where it names none",
        ),
        disagreement="ragas lists the entities of both sides in two calls and compares them letter by letter; here the "
        "judge says whether a context names the entity, in whichever words.",
        aliases=("ragas_context_entity_recall",),
    )

    @property
    def prompts(self) -> tuple[str, ...]:
        """The one prompt."""
        return (_PROMPT.version,)

    def read_row(self, *cells: object) -> RowTexts | Score:
        """Take the contexts and the first reference answer."""
        contexts, references = context_texts(cells[0]) or [], texts(cells[1], "reference_answers") or []
        reference = next((one for one in references if one.strip()), None)
        if reference is None:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if not contexts:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        return RowTexts.of("", contexts, "", reference)

    def requests(self, task: RowTexts) -> Sequence[JudgeRequest]:
        """Ask for the entities."""
        texts = fenced("chunk", *task.contexts), fenced("reference", *task.reference)
        return [_PROMPT.request(*texts, check=partial(_check, task))]

    def read_replies(self, task: RowTexts, replies: Sequence[Any]) -> tuple[Judged, dict[str, Any]]:
        """Give the share of the distinct entities that have a context."""
        (reply,) = replies
        if reply is None:
            return Judged.between(0.0, 1.0), {}
        verdicts: dict[str, Verdict] = {}
        entities = []
        for given in reply["entities"]:
            contexts, no_such_contexts = contexts_of(task, given["chunks"])
            named = None if no_such_contexts and not contexts else bool(contexts)
            verdicts[given["entity"]] = any_of([flag(verdicts.get(given["entity"], False)), named])
            entities.append(
                {"entity": given["entity"], "contexts": list(contexts)}
                | ({"no_such_contexts": list(no_such_contexts)} if no_such_contexts else {})
            )
        flags = [flag(verdict) for verdict in verdicts.values()]
        return share(flags, UnscoredReason.NO_ENTITIES), {"entities": entities}


def _check(row: RowTexts, reply: Any) -> None:
    for i, given in enumerate(reply["entities"]):
        contexts, no_such_contexts = contexts_of(row, given["chunks"])
        if no_such_contexts and not contexts:
            raise MisfitError(f"entities[{i}].chunks", f"there are {len(row.contexts)} chunks")


METRICS: tuple[Metric, ...] = (ContextEntityRecall(),)
