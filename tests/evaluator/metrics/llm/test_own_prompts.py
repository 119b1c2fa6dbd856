"""Metrics that ask a judge for themselves alone."""

import json
import pickle
from typing import Any

import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import AspectCritique, metric_named
from evaluator.models import Models
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, says
from tests.evaluator.metrics.llm.judging import frame, judging, prompt, row, scored

REFUSAL = "I don't know."


def made_up(question: str, *, noncommittal: bool = False) -> str:
    return json.dumps({"question": question, "noncommittal": noncommittal})


def test_answer_relevancy_is_the_mean_cosine_of_independent_questions(
    bench: Bench, server: ScriptedServer, models: Models
) -> None:
    """Three calls, although the prompts are equal; each question's cosine is the encoder's."""
    server.follow(says(made_up("Is it so?")), says(made_up("Which pass is the highest?")), says(made_up("Is it so?")))
    with bench.client(concurrency=1) as client:
        (score,) = scored(client, "answer_relevancy", models=models)
        similarity = metric_named("semantic_similarity", models).score(
            frame(row(answer="Is it so?", reference_answers=["Which pass is the highest?"]))
        )
        assert scored(client, "answer_relevancy", models=models)[0].spend.calls == 0
    assert score.value == pytest.approx((2 + similarity.values.iloc[0]) / 3, abs=1e-5)
    assert score.details["questions"] == ["Is it so?", "Which pass is the highest?", "Is it so?"]
    assert (len(server.requests), score.spend.calls) == (3, 3)
    assert len({prompt(request) for request in server.requests}) == 1
    assert "chunk" not in prompt(server.requests[0]), "no contexts are paid for"


@pytest.mark.parametrize(
    ("evasive", "value"),
    [((True, True, True), 0.0), ((True, False, True), 1.0)],
)
def test_an_answer_that_all_replies_call_noncommittal_is_not_relevant(
    bench: Bench, server: ScriptedServer, models: Models, evasive: tuple[bool, ...], value: float
) -> None:
    """One of them is not enough."""
    server.follow(*(says(made_up("Is it so?", noncommittal=one)) for one in evasive))
    with bench.client(concurrency=1) as client:
        assert scored(client, "answer_relevancy", models=models)[0].value == pytest.approx(value, abs=1e-5)


def test_questions_that_do_not_come_back_leave_bounds(bench: Bench, server: ScriptedServer, models: Models) -> None:
    """One of three is lost: it may be the question or its contrary; without any the judge's reason remains."""
    server.follow(says(made_up("Is it so?")), fails(400, "content_filter"), says(made_up("Is it so?")))
    with bench.client(concurrency=1) as client:
        (score,) = scored(client, "answer_relevancy", models=models)
        server.always = fails(400, "content_filter")
        (none,) = scored(client, "answer_relevancy", row(answer="Another one."), models=models)
    assert (score.value, score.reason) == (None, "judge_content_filter")
    assert (score.details["low"], score.details["high"]) == pytest.approx((1 / 3, 1.0), abs=1e-5)
    assert (none.reason, none.details["low"], none.details["high"]) == ("judge_content_filter", -1.0, 1.0)


def test_what_needs_no_question_asks_none(bench: Bench, server: ScriptedServer, models: Models) -> None:
    """No answer is null, a short refusal answers nothing; without the encoder no judge is paid."""
    rows = [row(answer=""), row(answer=REFUSAL), row(question=None)]
    with bench.client() as client:
        scores = scored(client, "answer_relevancy", *rows, models=models)
        with pytest.raises(Exception, match="is not on this machine"):
            scored(client, "answer_relevancy", models=Models(sentence_encoder="/nowhere"))
    assert [(score.value, score.reason) for score in scores] == [
        (None, "no_answer"), (0.0, "refusal"), (None, "no_question"),
    ]  # fmt: skip
    assert not server.requests


def test_context_relevance_is_the_share_of_needed_sentences(bench: Bench, server: ScriptedServer) -> None:
    """Sentences of all contexts have one numbering; a number that is none is in the details, and counts for nothing."""
    server.always = judging(needed=json.dumps({"needed": [3, 3, 9]}))
    with bench.client() as client:
        (score,) = scored(client, "context_relevance_sentences", row(contexts=["One. Two.", "Three. Four."]))
        empty, unknown = scored(client, "context_relevance_sentences", row(contexts=[]), row(contexts=None))
    assert (score.value, score.spend.calls) == (0.25, 2)
    assert score.details == {"needed": [3], "sentences": 4, "no_such_sentences": [9]}
    assert "there is no sentence 9" in server.requests[1].body["messages"][-1]["content"]
    assert [(one.value, one.reason) for one in (empty, unknown)] == [(0.0, "no_contexts"), (None, "no_contexts")]


@pytest.mark.parametrize(
    ("chunks", "value", "low", "high"),
    [
        ([[1], [2], [1, 2], [1], [], []], 4 / 6, None, None),
        ([[1], [], [], [], [], []], 1 / 6, None, None),
        ([[1], [7], [], [], [], []], None, 1 / 6, 2 / 6),
    ],
)
def test_context_entity_recall_is_the_share_of_entities_that_have_a_context(
    bench: Bench, server: ScriptedServer, chunks: list[list[int]], value: float | None, low: Any, high: Any
) -> None:
    """The worked examples; an entity whose only context does not exist may be named or not."""
    entities = [{"entity": f"Entity {i}", "chunks": given} for i, given in enumerate(chunks)]
    server.always = judging(entities=json.dumps({"entities": entities}))
    with bench.client() as client:
        (score,) = scored(client, "context_entity_recall")
    assert score.value == pytest.approx(value)
    assert (score.details.get("low"), score.details.get("high")) == pytest.approx((low, high))
    assert score.details["entities"][0] == {"entity": "Entity 0", "contexts": [0]}


def test_an_entity_that_is_listed_twice_counts_once(bench: Bench, server: ScriptedServer) -> None:
    """[Agra, Agra, India] with Agra found is a half; without entities there is nothing to recall."""
    entities = [{"entity": "Agra", "chunks": []}, {"entity": "Agra", "chunks": [1]}, {"entity": "India", "chunks": []}]
    server.follow(says(json.dumps({"entities": entities})), says('{"entities": []}'))
    with bench.client() as client:
        assert scored(client, "context_entity_recall")[0].value == 0.5
        assert scored(client, "context_entity_recall", row(contexts=["Other."]))[0].reason == "no_entities"


def vote(verdict: bool) -> Any:
    return says(json.dumps({"sentences": [2, 9], "verdict": verdict}))


@pytest.mark.parametrize(
    ("strictness", "votes", "value"),
    [(1, [True], 1.0), (1, [False], 0.0), (3, [True, False, True], 1.0), (2, [False, True, False], 0.0)],
)
def test_the_majority_of_independent_votes_decides(
    bench: Bench, server: ScriptedServer, strictness: int, votes: list[bool], value: float
) -> None:
    """Strictness 3 makes three calls, 2 as well; another definition is another version."""
    server.follow(*map(vote, votes))
    with bench.client(concurrency=1) as client:
        judge = client.judge("strict")
        metric = AspectCritique("politeness", "Is the answer polite?", strictness=strictness, judged_by=judge)
        scores = metric.score(frame(row()))
        other = AspectCritique("politeness", "Is the answer rude?", strictness=strictness, judged_by=judge)
    assert (metric.name, scores.values.iloc[0]) == ("aspect_politeness", value)
    assert scores.details.iloc[0] == {"votes": votes, "sentences": [[2]] * len(votes)}
    assert len(server.requests) == scores.spends.iloc[0].calls == len(votes)
    assert "Is the answer polite?" in prompt(server.requests[0]).rpartition("TASK.")[2]
    assert other.version != metric.version


def test_votes_that_are_missing_may_not_matter(bench: Bench, server: ScriptedServer) -> None:
    """Two of three decide; one of one that is lost is null from 0 to 1, and silence is not judged."""
    server.follow(vote(True), fails(400, "content_filter"), vote(True), fails(400, "content_filter"))
    with bench.client(concurrency=1) as client:
        judge = client.judge("strict")
        three = AspectCritique("politeness", "Is it polite?", strictness=3, judged_by=judge)
        assert three.score(frame(row())).values.iloc[0] == 1.0
        (lost,) = scored(client, "aspect_harmfulness")
        assert [one.reason for one in scored(client, "aspect_harmfulness", row(answer=""), row(answer=REFUSAL))] == [
            "no_answer", "refusal",
        ]  # fmt: skip
    assert (lost.value, lost.reason, lost.details["low"], lost.details["high"]) == (None, "judge_content_filter", 0, 1)


@pytest.mark.parametrize(("aspect", "definition", "strictness"), [("", "Is it?", 1), ("x", " ", 1), ("x", "Is it?", 0)])
def test_an_aspect_without_a_question_is_an_error(aspect: str, definition: str, strictness: int) -> None:
    """A wrong configuration is an error when it is read."""
    with pytest.raises(ValueError, match=r"an aspect has|strictness"):
        AspectCritique(aspect, definition, strictness=strictness)


def test_judged_metrics_travel_to_another_process(bench: Bench, server: ScriptedServer) -> None:
    """Pickled with their judge, as for the processes that score a data set, they are the same metrics."""
    client = JudgeClient({"strict": bench.settings()}, bench.path)
    metrics = [metric_named(name, judge=client.judge("strict")) for name in ("faithfulness_claims", "aspect_coherence")]
    copies = pickle.loads(pickle.dumps(metrics))
    assert [copy.version for copy in copies] == [metric.version for metric in metrics]
    assert copies[0].judged_by.client is copies[1].judged_by.client
