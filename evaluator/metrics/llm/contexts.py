"""Metrics of what was retrieved that ask a judge with a prompt of their own: entities, and needed sentences."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.cells import context_texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.prose_sentences import prose_sentences
from evaluator.metrics.llm.claims import RowTexts
from evaluator.metrics.llm.claims.answer_claims import contexts_of
from evaluator.metrics.llm.prompt_metric import prompt_metric
from evaluator.metrics.llm.verdicts import Judged, Verdict
from evaluator.metrics.llm.verdicts.judged import any_of, flag, share
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason

_ENTITIES = Prompt.read("entities", object_of(entities=list_of(object_of(entity=TEXT, chunks=list_of(NUMBER)))))
_NEEDED = Prompt.read("needed", object_of(needed=list_of(NUMBER)))

Asked = Generator[list[JudgeRequest], list[Any], Score | tuple[Judged, dict[str, Any]]]


@prompt_metric(
    Description(
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
    ),
    needs=("contexts", "reference_answers"),
    prompts=(_ENTITIES,),
)
def context_entity_recall(contexts: Sequence[str] | None, references: Sequence[str] | None) -> Asked:
    """Share of the reference answer's entities that the contexts name too, 0 to 1, higher is better.

    The judge names the contexts of each entity by number; where none of them exists, the verdict is missing. Of several
    reference answers the first is read. The details have the entities and the ranks of their contexts, from 0.
    """
    found = context_texts(contexts) or []
    reference = next((one for one in references or () if one.strip()), None)
    if reference is None:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if not found:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    row = RowTexts.of("", found, "", reference)
    texts = fenced("chunk", *row.contexts), fenced("reference", *row.reference)
    (reply,) = yield [_ENTITIES.request(*texts, check=partial(_check_entities, row))]
    if reply is None:
        return Judged.between(0.0, 1.0), {}
    verdicts: dict[str, Verdict] = {}
    entities = []
    for given in reply["entities"]:
        ranks, no_such_contexts = contexts_of(row, given["chunks"])
        named = None if no_such_contexts and not ranks else bool(ranks)
        verdicts[given["entity"]] = any_of([flag(verdicts.get(given["entity"], False)), named])
        entities.append(
            {"entity": given["entity"], "contexts": list(ranks)}
            | ({"no_such_contexts": list(no_such_contexts)} if no_such_contexts else {})
        )
    flags = [flag(verdict) for verdict in verdicts.values()]
    return share(flags, UnscoredReason.NO_ENTITIES), {"entities": entities}


def _check_entities(row: RowTexts, reply: Any) -> None:
    for i, given in enumerate(reply["entities"]):
        ranks, no_such_contexts = contexts_of(row, given["chunks"])
        if no_such_contexts and not ranks:
            raise MisfitError(f"entities[{i}].chunks", f"there are {len(row.contexts)} chunks")


@prompt_metric(
    Description(
        asks="How much of what was retrieved is needed to answer the question?",
        formula="sentences of the contexts that are needed / sentences of the contexts",
        source="RAGAS, arXiv 2309.15217; ragas 0.1.9 (ContextRelevancy)",
        odd_cases=OddCases(
            no_contexts="0.0 with `no_contexts`, null with it for a missing cell",
            duplicate_contexts="their sentences count again",
        ),
        disagreement="ragas lets the judge copy sentences out and does not check that they are there.",
        aliases=("ragas_context_relevancy",),
    ),
    needs=("question", "contexts"),
    prompts=(_NEEDED,),
    version="2",
)
def context_relevance_sentences(question: str | None, contexts: Sequence[str] | None) -> Asked:
    """Share of the contexts' sentences that are needed to answer the question, 0 to 1, higher is better.

    The judge names sentences by number, so that it cannot invent one. The details have the numbers, from 1, and how
    many sentences there are.
    """
    found = context_texts(contexts)
    if found is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    sentences = [sentence for context in found for sentence in prose_sentences(context)]
    if not sentences:
        return Score(0.0, UnscoredReason.NO_CONTEXTS)
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    texts = fenced("sentence", *sentences), fenced("question", question)
    (reply,) = yield [_NEEDED.request(*texts, check=partial(_check_sentences, len(sentences)))]
    numbers = range(1, len(sentences) + 1)
    needed = set() if reply is None else set(reply["needed"])
    verdicts = [None if reply is None else number in needed for number in numbers]
    details: dict[str, Any] = {"needed": sorted(needed & set(numbers)), "sentences": len(numbers)}
    absent = sorted(needed - set(numbers))
    return share(verdicts), details | ({"no_such_sentences": absent} if absent else {})


def _check_sentences(count: int, reply: Any) -> None:
    if absent := [number for number in reply["needed"] if not 1 <= number <= count]:
        raise MisfitError("needed", f"there is no sentence {absent[0]}; there are 1 to {count}")
