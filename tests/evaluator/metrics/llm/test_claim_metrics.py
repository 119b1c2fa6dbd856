"""Metrics of claims: from a judge's replies to numbers, and what it takes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import (
    REGISTRY,
    FaithfulnessClaimsApart,
    JudgeUnavailableError,
    combination,
    compute,
    metric_named,
)
from evaluator.metrics.llm.claim_metric import ClaimMetric
from evaluator.metrics.options import options_of
from evaluator.models import Models
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer
from tests.evaluator.metrics.llm.judging import (
    answered,
    compared,
    frame,
    judging,
    prompt,
    properties,
    row,
    scored,
    sentences,
)

CLAIMS = [
    name
    for name, metric in REGISTRY.items()
    if isinstance(metric, ClaimMetric) and not isinstance(metric, FaithfulnessClaimsApart)
]
OF_ONE_CALL = [name for name in CLAIMS if "reference_answers" not in REGISTRY[name].needs]
S, C, N = ([1], "S"), ([2], "C"), ([], "N")
RAGAS_SIX = (
    "ragas_faithfulness", "answer_relevance_sentences", "ragas_context_precision", "ragas_context_recall",
    "ragas_noise_sensitivity", "factual_correctness",
)  # fmt: skip
GOLDEN = json.loads((Path(__file__).parents[2] / "golden.json").read_text("utf-8"))
RAGCHECKER = [one for one in GOLDEN if one["metric"] == "ragchecker_all" and one["inputs"]["answer2response"]]


@pytest.mark.parametrize(
    ("name", "answer", "reference", "value"),
    [
        ("faithfulness_claims", [[S, C]], [], 1 / 2),
        ("faithfulness_claims", [[S, S, S], [S, S, S]], [], 1.0),
        ("faithfulness_claims", [[S, S, S], [N, C, C]], [], 1 / 2),
        ("faithfulness_claims", [[S], [], [S, N, N, N]], [], 2 / 5),
        ("groundedness", [[S], [], [S, N, N, N]], [], (1 + 1 / 4) / 2),
        ("context_utilization", [[([2], "S")]], [], 1 / 2),
        ("context_utilization", [[C]], [], 0.0),
        ("faithful", [[S, S], [S]], [], 1.0),
        ("faithful", [[S, S, S], [S, S, N]], [], 0.0),
        ("contradicted_claims", [[S, C], [N, N]], [], 1 / 4),
        ("claim_precision", [[S] * 6], ["SSSCNN", [([], False)]], 1 / 2),
        ("correctness_claims", [[S, S, S], [S, C, N]], ["SSCNNN", [([], False)]], 3 / 5),
        ("coverage_claims", [[S]], ["S", [([], True)] * 2 + [([1], False)] * 4], 1 / 3),
        ("claims_f1", [[S, S]], ["SN", [([], True), ([], True), ([], False), ([], False)]], 1 / 2),
        ("factual_correctness", [[S, S]], ["SN", [([], True), ([], False)]], 1 / 2),
        ("context_recall", [[S]], ["S", [([1, 2], False), ([], True)]], 1 / 2),
        ("context_precision", [[S]], ["S", [([2], False)]], 1 / 2),
        ("context_precision_unranked", [[S]], ["S", [([2], False)]], 1 / 2),
        ("context_utilization_claims", [[S]], ["S", [([2], False), ([1], True), ([], True)]], 1 / 2),
        ("noise_sensitivity_relevant", [[S, S, S]], ["SSN", [([1], True)]], 1 / 3),
        ("noise_sensitivity_irrelevant", [[S, S, ([2], "S")]], ["SSN", [([1], True)]], 1 / 3),
        ("hallucination", [[S, N, N]], ["NSN", [([], False)]], 1 / 3),
        ("self_knowledge", [[S, N, N]], ["NSN", [([], False)]], 1 / 3),
    ],
)
def test_the_numbers_of_worked_examples(
    bench: Bench, server: ScriptedServer, name: str, answer: list[Any], reference: list[Any], value: float
) -> None:
    """What the definitions' examples say comes out of replies that say what they are about."""
    verdicts, facts = reference or ["", []]
    server.always = judging(answered(answer), compared([facts], verdicts))
    with bench.client() as client:
        (score,) = scored(client, name, row(answer=sentences(len(answer))))
    assert (score.value, score.reason) == (pytest.approx(value), None)
    assert len(server.requests) == (2 if reference else 1)


@pytest.mark.parametrize("record", [pytest.param(one, id=one["id"]) for one in RAGCHECKER])
def test_the_eleven_numbers_of_ragchecker(bench: Bench, server: ScriptedServer, record: dict[str, Any]) -> None:
    """A judge that gives the verdicts of RAGChecker's own examples gives its numbers, in two calls for all eleven."""
    given = record["inputs"]
    chunks = [[i for i, is_one in enumerate(one, 1) if is_one] for one in given["retrieved2response"]]
    facts = [(one, "S" if one else "N") for one in chunks]
    of_reference = [[i for i, is_one in enumerate(one, 1) if is_one] for one in given["retrieved2answer"]]
    stated = list(zip(of_reference, map(bool, given["response2answer"]), strict=True))
    verdicts = "".join("S" if one else "N" for one in given["answer2response"])
    server.always = judging(answered([facts]), compared([stated], verdicts))
    contexts = [f"chunk {number}" for number in range(len(given["retrieved2response"][0]))]
    with bench.client() as client:
        one = row(answer=sentences(1), contexts=contexts)
        found = {name: scored(client, f"ragchecker_{name}", one)[0].value for name in record["expected"]}
    assert found == pytest.approx(record["expected"])
    assert len(server.requests) == 2


def test_ragas_six_are_two_calls_and_three_are_one(bench: Bench, server: ScriptedServer) -> None:
    """Whichever metrics are asked for: one call a row, two with a reference answer, none for what was asked before."""
    server.always = judging(answered([[S], [S]], useful=[1]), compared([[([1], True)]], "SS"))
    rows = frame(row(), row(question="Or so?"))
    with bench.client() as client:
        judge = client.judge("strict")
        three = ["faithfulness_claims", "context_precision_question", "answer_relevance_sentences"]
        assert compute(rows, three, judge=judge)[three].to_numpy().tolist() == [[1.0, 1.0, 1.0]] * 2
        assert len(server.requests) == 2
        compute(rows, RAGAS_SIX, judge=judge)
        assert len(server.requests) == 4
        without_models = [name for name in CLAIMS if "models" not in options_of(REGISTRY[name])]
        assert compute(rows, without_models, judge=judge)[without_models].notna().all().all()
        assert client.spent("strict").calls == len(server.requests) == 4
    with bench.client() as client:
        compute(rows, RAGAS_SIX, judge=client.judge("strict"))
    assert len(server.requests) == 4


def test_a_combination_asks_the_judge_of_its_parts(bench: Bench, server: ScriptedServer) -> None:
    """Its score has what all of its parts took."""
    server.always = judging(answered([[S, N], [S]]), compared([[([1], True)]], "SSS"))
    with bench.client() as client:
        parts = {"faithfulness_claims": 1, "context_recall": 1}
        scores = combination("trust", parts, judge=client.judge("strict")).score(frame(row()))
    assert scores.values.iloc[0] == pytest.approx((2 / 3 + 1) / 2)
    assert scores.spends.iloc[0].calls == len(server.requests) == 2


def test_the_first_metric_pays_and_the_sum_is_what_was_paid(bench: Bench, server: ScriptedServer) -> None:
    """What several metrics ask is in the score of the first, and of two equal rows in the first."""
    server.always = judging(answered([[S], [S]]), compared([[([1], True)]], "SS"))
    with bench.client() as client:
        spends = [
            [score.spend.calls for score in scored(client, name, row(), row())]
            for name in ("faithfulness_claims", "groundedness", "correctness_claims")
        ]
        assert spends == [[1, 0], [0, 0], [1, 0]]
        assert client.spent("strict").cost == pytest.approx(bench.spent)


def test_contexts_come_first_in_both_prompts_and_do_not_change_with_the_answer(
    bench: Bench, server: ScriptedServer
) -> None:
    """Contexts and question are a prefix of every prompt about a row, so that an endpoint's cache serves them."""
    server.always = judging(answered([[S], [S]]), compared([[([1], True)]], "SS"))
    with bench.client() as client:
        scored(client, "correctness", row(), row(answer=sentences(2, "Other")))
    prefixes = {prompt(request).split("</question", 1)[0] for request in server.requests}
    systems = {request.body["messages"][0]["content"] for request in server.requests}
    assert (len(prefixes), len(systems), len(server.requests)) == (1, 1, 3), "the answers' facts are the same"
    assert prefixes.pop().startswith("<chunk 1 ")


def test_every_call_about_a_row_that_shows_contexts_begins_with_the_same_bytes(
    bench: Bench, server: ScriptedServer
) -> None:
    """Whatever metric asks, whichever part of a long answer, and where a reply is asked for once more."""
    one = row(answer=sentences(21), contexts=["Kurz & gut: €5.\n", "Second chunk."])
    entities = json.dumps({"entities": [{"entity": "Reference 1", "chunks": [1]}]})
    server.always = judging(answered([[S]] * 20), compared([[([1], True)]], "S" * 20), entities=entities)
    with bench.client() as client:
        scored(client, "correctness", one)
        scored(client, "context_entity_recall", one)
    asked = [request.body["messages"] for request in server.requests]
    assert [len(messages) for messages in asked].count(4) > 0, "a second try is among them"
    beginnings = {(messages[0]["content"], beginning(messages[1]["content"])) for messages in asked}
    assert len(beginnings) == 1
    assert "Kurz & gut: €5.\n" in beginnings.pop()[1]
    assert len({next(iter(properties(request))) for request in server.requests}) == 3


def beginning(text: str) -> str:
    """The contexts with the marks around them."""
    found = re.match(r"<chunk 1 .*\n</chunk [0-9a-f]+>", text, re.DOTALL)
    assert found is not None
    return found[0]


def test_what_is_said_around_the_texts_is_short(bench: Bench, server: ScriptedServer) -> None:
    """Six sentences and ten chunks of 800 characters: all that is no chunk is 2,300 and 2,900 more, a schema 800."""
    answer = " ".join(
        f"Apple was founded in April of the year {1970 + number} by three of its friends." for number in range(6)
    )
    one = row(contexts=["chunk of" * 100] * 10, answer=answer, reference_answers=[answer])
    facts = answered([[([1, 2], "S")]] * 6).replace(
        "Fact", "Apple was founded in April of that year by three friends, as fact"
    )
    server.always = judging(facts, compared([[([1, 2], True)]] * 6, "S" * 6))
    with bench.client() as client:
        assert scored(client, "claims_f1", one)[0].value == 1.0
    sizes = [sum(len(message["content"]) for message in request.body["messages"]) for request in server.requests]
    forms = [json.dumps(request.body["response_format"], separators=(",", ":")) for request in server.requests]
    assert max(map(len, forms)) < 800
    assert sizes[0] - 8_000 < 2_300
    assert sizes[1] - 8_000 < 2_900


def test_the_details_have_facts_verdicts_and_ranks(bench: Bench, server: ScriptedServer) -> None:
    """Ranks count from 0, as everywhere; what the judge says of chunks that do not exist is in the details."""
    answer = answered([[([2, 9], "S"), ([9], "S")], [C]])
    server.always = judging(answer, compared([[([1], False), ([7], True)]], "SNC"))
    with bench.client() as client:
        (score,) = scored(client, "noise_sensitivity")
    assert score.details["facts"] == [
        {"fact": "Fact 1.1", "sentence": 1, "contexts": [1], "no_such_contexts": [8], "verdict": "S"}
        | {"in_reference": True},
        {"fact": "Fact 1.2", "sentence": 1, "contexts": [], "no_such_contexts": [8], "verdict": None}
        | {"in_reference": "undecided"},
        {"fact": "Fact 2.1", "sentence": 2, "contexts": [1], "verdict": "C", "in_reference": False},
    ]
    assert score.details["reference_facts"] == [
        {"fact": "Reference 1.1", "sentence": 1, "contexts": [0], "stated": False},
        {"fact": "Reference 1.2", "sentence": 1, "contexts": [], "no_such_contexts": [6], "stated": True},
    ]
    json.dumps(score.details)


def test_relevance_and_usefulness_are_of_sentences_and_contexts(bench: Bench, server: ScriptedServer) -> None:
    """A sentence that does not address the question counts against the answer, also one without a claim."""
    server.always = judging(answered([[S], []], addresses="yn", useful=[2]))
    with bench.client() as client:
        (relevance,) = scored(client, "answer_relevance_sentences")
        (share,) = scored(client, "context_relevance_share")
        (precision,) = scored(client, "context_precision_question")
    assert (relevance.value, relevance.details) == (0.5, {"addressing": [1], "sentences": 2})
    assert (share.value, precision.value, share.details) == (0.5, 0.5, {"useful": [1]})


REFUSAL = "I don't know: the context does not mention it. There is no information about it. Can you say more?"


@pytest.mark.parametrize(
    ("change", "nulls", "calls"),
    [
        ({"answer": None}, {"no_answer"}, 2),
        ({"answer": " - \n"}, {"no_answer"}, 2),
        ({"answer": REFUSAL}, {"refusal"}, 2),
        ({"contexts": []}, {"no_contexts"}, 2),
        ({"contexts": None}, {"no_contexts"}, 2),
        ({"contexts": ["", " "]}, {"no_text_contexts"}, 2),
        ({"reference_answers": []}, {"no_ground_truth"}, 1),
        ({"reference_answers": [" "]}, {"no_ground_truth"}, 1),
        ({"question": ""}, {"no_question"}, 0),
        ({"answer": ["a list"]}, {"unreadable_answer"}, 0),
    ],
)
def test_what_is_missing_is_null_without_a_call(
    bench: Bench, server: ScriptedServer, models: Models, change: dict[str, Any], nulls: set[str], calls: int
) -> None:
    """A metric that is about what is not there asks nothing; what it is not about does not stop it."""
    answers = answered([[N], [N]]) if "contexts" in change else answered([[S], [S]])
    silent = "answer" in change
    server.always = judging(answered([]) if silent else answers, compared([[([], True)]], "" if silent else "SS"))
    with bench.client() as client:
        judge = client.judge("strict")
        scores = compute(frame(row(**change)), CLAIMS, models, judge).iloc[0]
    reasons = {name: scores[f"{name}_reason"] for name in CLAIMS if scores[name] != scores[name]}
    assert set(reasons.values()) == nulls
    assert len(server.requests) == calls
    for name in CLAIMS:
        metric: Any = REGISTRY[name]
        reads = metric.reads
        is_about = (
            ("answer" in change and "answer" in reads)
            or ("contexts" in change and "contexts" in reads)
            or ("reference_answers" in change and "reference" in reads)
            or ("question" in change)
        )
        assert name in reasons if is_about else True


def test_a_refusal_is_found_by_the_lexicon_or_by_the_judge(bench: Bench, server: ScriptedServer) -> None:
    """A short answer that refuses costs no call; in a long one it may be one sentence among others."""
    server.always = judging(answered([[]] * 2, refusal=True))
    with bench.client() as client:
        plain = scored(client, "refusal_judged", row(answer=REFUSAL), row(answer=""), row(answer=None))
        assert [(score.value, score.reason) for score in plain] == [
            (1.0, None),
            (0.0, "no_answer"),
            (None, "no_answer"),
        ]
        assert not server.requests
        assert scored(client, "refusal_judged")[0].value == 1.0
        server.always = judging(answered([[S]] * 4))
        long = row(answer=f"I don't know. {sentences(3)}")
        assert scored(client, "refusal_judged", long)[0].value == 0.0
        assert scored(client, "faithfulness_claims", long)[0].value == 1.0


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("I don't have that information. The service listens on port 9000.", 2),
        ("I don't have that information, but the service listens on port 9000.", 1),
        ("抱歉，我无法回答这个问题，但费用是四十欧元。", 1),
    ],
)
def test_an_answer_that_refuses_and_then_answers_is_judged(
    bench: Bench, server: ScriptedServer, answer: str, sentences: int
) -> None:
    """A phrase of refusal does not hide what is made up after it."""
    server.always = judging(answered([[]] * (sentences - 1) + [[N]]))
    with bench.client() as client:
        (faithfulness,) = scored(client, "faithfulness_claims", row(answer=answer))
        (refusal,) = scored(client, "refusal_judged", row(answer=answer))
    assert (faithfulness.value, refusal.value, len(server.requests)) == (0.0, 0.0, 1)


def test_an_answer_without_claims_has_no_faithfulness(bench: Bench, server: ScriptedServer) -> None:
    """Nothing was claimed: null with `no_claims`; what the reference answer says is not covered, and no fact right."""
    server.always = judging(answered([[], []]), compared([[([1], False)]], ""))
    with bench.client() as client:
        named = {
            name: scored(client, name)[0]
            for name in ("faithfulness_claims", "groundedness", "correctness", "noise_sensitivity")
        }
        assert {score.reason for score in named.values()} == {"no_claims"}
        assert scored(client, "coverage")[0].value == 0.0
        assert scored(client, "factual_correctness")[0].value == 0.0


def test_answer_correctness_is_three_parts_facts_and_one_part_similarity(
    bench: Bench, server: ScriptedServer, models: Models
) -> None:
    """The encoder's part is the cosine that `semantic_similarity` gives; without the encoder no judge is paid."""
    server.always = judging(answered([[S, S], []]), compared([[([], True), ([], False)]], "SN"))
    with bench.client() as client:
        (similarity,) = scored(client, "semantic_similarity", models=models)
        with pytest.raises(Exception, match="is not on this machine"):
            scored(client, "ragas_answer_correctness", models=Models(sentence_encoder="/nowhere"))
        assert not server.requests
        (score,) = scored(client, "ragas_answer_correctness", models=models)
    assert similarity.value is not None
    assert score.value == pytest.approx(0.75 / 2 + 0.25 * similarity.value)
    assert score.details["similarity"] == pytest.approx(similarity.value)


def test_a_metric_without_a_judge_says_how_to_get_one() -> None:
    """The service turns it off, as a metric whose model is missing, also before there is a row."""
    with pytest.raises(JudgeUnavailableError, match=r"'faithfulness_claims'.*evaluator\.judges"):
        compute(frame(), ["faithfulness_claims"])


def test_the_version_names_the_model_and_changes_with_what_changes_values(bench: Bench) -> None:
    """Another model, temperature or prompt is another stream of scores; another name or price of a judge is not."""

    def version(name: str = "faithfulness_claims", judge: str = "strict", **changes: Any) -> str:
        settings = bench.settings(**changes)
        return metric_named(name, judge=JudgeClient({judge: settings}, bench.path).judge(judge)).version

    plain = version(model="org/model-7b")
    assert plain.startswith("1-model-7b-")
    assert version(model="org/model-7b", judge="other", prompt_price=3, concurrency=2) == plain
    others = [
        version(model="other/model-7b"),
        version(model="org/model-7b", temperature=0.5),
        version("correctness", model="org/model-7b"),
    ]
    assert len({plain, *others}) == 4
    assert metric_named("faithfulness_claims").version == "1"


def test_another_draw_is_another_call_and_the_same_draw_is_not(bench: Bench, server: ScriptedServer) -> None:
    """A judge asked anew may change its mind; the version stays, and what was drawn before is kept."""
    with bench.client() as client:
        metric = metric_named("faithfulness_claims", None, client.judge("strict"))
        assert isinstance(metric, ClaimMetric)
        found = []
        for draw, verdict in [(0, S), (1, C), (0, C), (1, S)]:
            server.always = judging(answered([[verdict]]))
            drawn = metric.fresh(draw)
            assert drawn.version == metric.version
            found.append(drawn.score(frame(row(answer=sentences(1)))).values[0])
    assert found == [1.0, 0.0, 1.0, 0.0]
    assert len(server.requests) == 2
