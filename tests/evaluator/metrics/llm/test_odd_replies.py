"""Incomplete and wrong replies of a judge: null, the reason, and the bounds of the value."""

import json
from typing import Any

import pytest

from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, later, says
from tests.evaluator.metrics.llm.judging import answered, compared, judging, prompt, properties, row, scored, sentences

S, C, N = ([1], "S"), ([2], "C"), ([], "N")
GOOD = answered([[S], [N]])


def changed(reply: str, **changes: Any) -> str:
    return json.dumps(json.loads(reply) | changes)


SENTENCES = json.loads(GOOD)["sentences"]
TWO_VERDICTS = [SENTENCES[0]["facts"][0], SENTENCES[0]["facts"][0] | {"verdict": "N"}]
ANOTHER = SENTENCES[0] | {"facts": []}


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("no JSON", "is no JSON"),
        (changed(GOOD, useful="all"), "useful"),
        (changed(GOOD, sentences=SENTENCES[:1]), "sentences: sentence 2 is missing"),
        (changed(GOOD, sentences=[*SENTENCES, ANOTHER]), "sentences: sentence 1 comes 2 times"),
        (answered([[S], [N] * 20]), "sentences[1].facts: 20 facts are more than the sentence says"),
        (changed(GOOD, sentences=[SENTENCES[0] | {"facts": None}, SENTENCES[1]]), "sentences[0].facts: null is no"),
        (
            changed(GOOD, sentences=[SENTENCES[0] | {"facts": TWO_VERDICTS}, SENTENCES[1]]),
            "different verdicts on",
        ),
        (changed(GOOD, sentences=[*SENTENCES, SENTENCES[0] | {"sentence": 3}]), "sentences: sentence 3 comes 1 times"),
        (answered([[S], [([9], "S")]]), "sentences[1].facts[0].chunks: a verdict S needs a chunk"),
        (answered([[S], [([], "S")]]), "sentences[1].facts[0].chunks: a verdict S needs a chunk"),
        (answered([[S], [([0], "C")]]), "sentences[1].facts[0].chunks: a verdict C needs a chunk"),
    ],
)
def test_a_wrong_reply_is_repaired_once(bench: Bench, server: ScriptedServer, reply: str, message: str) -> None:
    """The judge hears what is wrong, and its second reply counts; both are paid."""
    server.follow(says(reply), says(GOOD))
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims")
    assert (score.value, score.spend.calls) == (0.5, 2)
    assert message in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "low", "high", "facts"),
    [
        (changed(GOOD, sentences=SENTENCES[:1]), 0.0, 1.0, 1),
        (changed(GOOD, sentences=[*SENTENCES, ANOTHER]), 0.0, 1.0, 1),
        (answered([[S], [N] * 20]), 0.0, 1.0, 1),
        (answered([[S], [([9], "S"), N, N]]), 0.25, 0.5, 4),
        (answered([[S], [([], "S"), ([3], "C")]]), 1 / 3, 1.0, 3),
    ],
)
def test_what_stays_wrong_is_missing(
    bench: Bench, server: ScriptedServer, reply: str, low: float, high: float, facts: int
) -> None:
    """Two wrong replies: a claim without proof may be either, of a lost sentence nothing is known."""
    server.always = judging(reply)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims")
        (other,) = scored(client, "context_relevance_share")
    assert (score.value, score.reason, len(server.requests)) == (None, "judge_failed", 2)
    assert (score.details["low"], score.details["high"]) == pytest.approx((low, high))
    assert len(score.details["facts"]) == facts
    assert other.value == 0.0, "what does not hang on it has its value"


@pytest.mark.parametrize(("end", "value", "calls"), [('}], "useful": [1', 0.5, 1), ("}]", 0.5, 1), ("", None, 3)])
def test_a_reply_that_was_cut_behind_its_last_sentence_counts(
    bench: Bench, server: ScriptedServer, end: str, value: float | None, calls: int
) -> None:
    """All claims are there; which chunks are useful is not known. One call is made, and where some lack, two halves."""
    cut = GOOD[: GOOD.index('}], "useful"')]
    server.always = says(cut + end, finish_reason="length")
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims")
        (other,) = scored(client, "context_relevance_share")
    assert (score.value, score.reason, len(server.requests)) == (value, None if value else "judge_cut", calls)
    assert other.value is None


def test_a_fact_that_is_given_twice_has_the_chunks_of_both(bench: Bench, server: ScriptedServer) -> None:
    """One verdict is one claim; two verdicts are none."""
    facts = [SENTENCES[0]["facts"][0] | {"chunks": chunks} for chunks in ([1], [2])]
    server.always = says(changed(GOOD, sentences=[SENTENCES[0] | {"facts": facts}, SENTENCES[1]]))
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims")
    assert (score.value, score.details["facts"][0]["contexts"]) == (0.5, [0, 1])


def test_what_no_missing_verdict_can_change_is_known(bench: Bench, server: ScriptedServer) -> None:
    """A claim that the reference does not support and no context can be shown for is no noise, proven or not."""
    server.always = judging(answered([[([1, 9], "S")], []]), compared([[([2], True), ([9], True)]], "S"))
    with bench.client() as client:
        (noise,) = scored(client, "noise_sensitivity")
        (recall,) = scored(client, "context_recall")
        (precision,) = scored(client, "context_precision")
    assert noise.value == 0.0
    assert (recall.value, recall.details["low"], recall.details["high"]) == (None, 0.5, 1.0)
    assert (precision.value, precision.details["low"], precision.details["high"]) == (None, 0.5, 1.0)


def test_a_second_reply_that_lacks_verdicts_leaves_bounds(bench: Bench, server: ScriptedServer) -> None:
    """A fact without a verdict may be right or wrong, and one that comes twice too."""
    reply = compared([[([1], True)]], "SSN")
    verdicts = json.loads(reply)["answer_facts"]
    twice = changed(reply, answer_facts=[*verdicts[:2], verdicts[1] | {"verdict": "N"}])
    server.always = judging(answered([[S, S], [S]]), twice)
    with bench.client() as client:
        (score,) = scored(client, "correctness")
    assert (score.value, score.reason, score.spend.calls) == (None, "judge_failed", 3)
    assert (score.details["low"], score.details["high"]) == pytest.approx((1 / 3, 1.0))


def test_a_claim_may_stand_in_a_sentence_that_was_lost(bench: Bench, server: ScriptedServer) -> None:
    """What the known facts of the answer do not state, the unknown ones may: coverage has bounds, not a value."""
    server.always = judging(changed(GOOD, sentences=SENTENCES[:1]), compared([[([1], True), ([1], False)]], "S"))
    with bench.client() as client:
        (coverage,) = scored(client, "coverage")
        (correctness,) = scored(client, "correctness")
    assert (coverage.value, coverage.details["low"], coverage.details["high"]) == (None, 0.5, 1.0)
    assert (correctness.value, correctness.details["low"], correctness.details["high"]) == (None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (fails(400, "content_filter"), "judge_content_filter"),
        (says(None, finish_reason="content_filter"), "judge_content_filter"),
        (says(None, message={"refusal": "no"}), "judge_refused"),
        (says("{", finish_reason="length"), "judge_cut"),
        (fails(404, "DeploymentNotFound"), "judge_unavailable"),
    ],
)
def test_a_judge_that_gives_no_answer_costs_its_row_alone(
    bench: Bench, server: ScriptedServer, act: Any, reason: str
) -> None:
    """The row is null with the judge's reason and bounds, for all metrics after one call; its neighbours are scored."""
    good = judging(GOOD, compared([[([1], True)]], "SN"))

    async def answer(request: Any, send: Any) -> None:
        await (act if "Is it odd?" in prompt(request) else good)(request, send)

    server.always = answer
    rows = [row(), row(question="Is it odd?"), row(question="Is it even?")]
    with bench.client() as client:
        before, odd, after = scored(client, "faithfulness_claims", *rows)
        asked = len(server.requests)
        second = scored(client, "coverage", *rows)[1]
        third = scored(client, "noise_sensitivity", *rows)[1]
    assert (before.value, odd.value, after.value) == (0.5, None, 0.5)
    assert {score.reason for score in (odd, second, third)} == {reason}
    assert (odd.details["low"], odd.details["high"]) == (0.0, 1.0)
    assert len(server.requests) == asked + 2, "the comparison of the two that were answered"


def test_a_judge_without_money_is_the_reason(bench: Bench, server: ScriptedServer) -> None:
    """A budget that is spent, and prices that nobody gave, are reasons that the row may be scored later."""
    with bench.client(budget_per_day=1e-9) as client:
        assert scored(client, "faithfulness_claims")[0].reason == "judge_budget"
    with bench.client(prompt_price=None, completion_price=None) as client:
        assert scored(client, "faithfulness_claims")[0].reason == "judge_unpriced"
    assert not server.requests


def test_a_long_answer_is_split_by_sentences_and_facts(bench: Bench, server: ScriptedServer) -> None:
    """Twenty in a call, every call with all contexts and all sentences; the numbers are those of the whole."""

    async def judge(request: Any, send: Any) -> None:
        task = prompt(request).split("TASK.")[1]
        numbers = [word.strip(",") for word in task.split() if word.strip(",").isdecimal()]
        ranges = [range(int(numbers[i]), int(numbers[i + 1]) + 1) for i in range(0, len(numbers), 2)]
        if "Compare" not in task:
            facts = json.loads(answered([[S]]))["sentences"][0]
            reply = {"sentences": [facts | {"sentence": n} for n in ranges[0]]}
            reply |= {"useful": [1], "refusal": False} if ranges[0][0] == 1 else {}
        else:
            reply = {"reference": [{"sentence": 1, "facts": []}] if len(ranges) > 1 else [], "answer_facts": []}
            reply["answer_facts"] = [{"fact": n, "verdict": "S" if n <= 20 else "N"} for n in ranges[-1]]
        await says(json.dumps(reply))(request, send)

    server.always = judge
    with bench.client() as client:
        long = row(answer=sentences(41))
        (faithfulness,) = scored(client, "faithfulness_claims", long)
        assert (faithfulness.value, len(server.requests)) == (1.0, 3)
        assert [fact["sentence"] for fact in faithfulness.details["facts"]] == list(range(1, 42))
        (correctness,) = scored(client, "correctness", long)
        assert (correctness.value, len(server.requests)) == (pytest.approx(20 / 41), 6)
    asked = {tuple(sorted(properties(request))) for request in server.requests[:3]}
    assert asked == {("refusal", "sentences", "useful"), ("sentences",)}, "of the whole answer it is asked once"
    assert sum("refusal" in prompt(request) for request in server.requests[:3]) == 1
    assert all("<chunk 2 " in prompt(request) for request in server.requests)
    assert all("<sentence 41 " in prompt(request) for request in server.requests[:3])


def test_one_lost_part_of_a_long_answer_is_bounds(bench: Bench, server: ScriptedServer) -> None:
    """The sentences of a call that failed are unknown; what the first call says of the whole stays."""
    first = answered([[S]] * 20, useful=[1])
    server.follow(says(first), fails(400, "content_filter"))
    server.always = later(0)
    with bench.client(concurrency=1) as client:
        (score,) = scored(client, "faithfulness_claims", row(answer=sentences(21)))
        (share,) = scored(client, "context_relevance_share", row(answer=sentences(21)))
    assert (score.value, score.reason, score.details["low"], score.details["high"]) == (
        None, "judge_content_filter", 0.0, 1.0,
    )  # fmt: skip
    assert share.value == 0.5
