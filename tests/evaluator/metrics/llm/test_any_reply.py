"""Whatever a judge replies that fits the schemas."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.exchange import JudgeError, JudgeReply, Spend
from evaluator.judges.schema import MisfitError
from evaluator.metrics import REGISTRY
from evaluator.metrics.llm.claim_metric import ClaimMetric
from evaluator.metrics.llm.claims import RowClaims, RowTexts, answer_claims, reference_claims
from evaluator.metrics.options import options_of
from tests.evaluator.metrics.llm.judging import answered, compared

METRICS = [one for one in REGISTRY.values() if isinstance(one, ClaimMetric) and "models" not in options_of(one)]
NUMBERS = st.integers(-1, 4)
FACTS = {"fact": st.just("So."), "chunks": st.lists(NUMBERS, max_size=3)}
VERDICTS = st.sampled_from("SCN")
FACT = st.fixed_dictionaries(FACTS | {"verdict": VERDICTS})
SENTENCE = st.fixed_dictionaries({"sentence": NUMBERS, "facts": st.lists(FACT, max_size=3), "addresses": st.booleans()})
REPLY = st.fixed_dictionaries(
    {"sentences": st.lists(SENTENCE, max_size=4), "useful": st.lists(NUMBERS, max_size=3), "refusal": st.booleans()}
)
REFERENCE_FACT = st.fixed_dictionaries(FACTS | {"stated": st.booleans()})
COMPARISON = st.fixed_dictionaries(
    {
        "reference": st.lists(
            st.fixed_dictionaries({"sentence": NUMBERS, "facts": st.lists(REFERENCE_FACT, max_size=3)}), max_size=3
        ),
        "answer_facts": st.lists(st.fixed_dictionaries({"fact": st.integers(0, 5), "verdict": VERDICTS}), max_size=6),
    }
)
PROVEN = st.sampled_from([([1], "S"), ([1, 2], "S"), ([2, 4], "S"), ([2], "C"), ([], "C"), ([], "N"), ([1], "N")])
WHOLE = st.lists(st.lists(PROVEN, max_size=3), min_size=3, max_size=3).map(lambda facts: json.loads(answered(facts)))
STATED = st.lists(st.tuples(st.sampled_from([(), (1,), (2, 3)]), st.booleans()), max_size=3)


@st.composite
def whole_replies(draw: st.DrawFn) -> tuple[Any, Any]:
    first = draw(WHOLE)
    count = sum(len(sentence["facts"]) for sentence in first["sentences"])
    verdicts = draw(st.lists(VERDICTS, min_size=count, max_size=count))
    return first, json.loads(compared([draw(STATED), draw(STATED)], "".join(verdicts)))


ROW = RowTexts.of("Is it so?", ["One.", "Two."], "It is so. It was so. It will be.", "It is. It was.")


def reply(parsed: Any) -> JudgeReply | JudgeError:
    return JudgeError("judge_timeout", "late") if parsed is None else JudgeReply(parsed, Spend())


def misfits(request: Any, parsed: Any) -> bool:
    try:
        request.check(parsed)
    except MisfitError:
        return True
    return False


@given(st.none() | REPLY, st.none() | COMPARISON)
def test_every_value_is_in_its_bounds_and_every_null_has_a_reason(first: Any, second: Any) -> None:
    """No reply makes a metric fail, and what is null is so for missing verdicts, errors, or nothing to judge."""
    of_answer = answer_claims.read(ROW, [reply(first)])
    of_reference = reference_claims.read(ROW, of_answer, [reply(second)])
    found = RowClaims(ROW, of_answer, of_reference, Spend())
    for metric in METRICS:
        score = metric.row_score(found)
        json.dumps(score.details)
        if score.value is not None:
            assert 0 <= score.value <= 1
        elif score.reason != "no_claims":
            assert score.reason == (found.error or "judge_failed")
            assert 0 <= score.details["low"] <= score.details["high"] <= 1


@given(whole_replies() | st.tuples(REPLY, COMPARISON))
def test_a_reply_that_is_not_complained_of_lacks_nothing(replies: tuple[Any, Any]) -> None:
    """What `check` lets through gives a value to every metric, unless there is nothing to judge."""
    first, second = replies
    of_answer = answer_claims.read(ROW, [reply(first)])
    is_whole = not misfits(answer_claims.requests(ROW)[0], first)
    assert is_whole == (
        not of_answer.missing
        and {one["sentence"] for one in first["sentences"]} <= {1, 2, 3}
        and all(claim.verdict for claim in of_answer.claims)
    )
    of_reference = reference_claims.read(ROW, of_answer, [reply(second)])
    if is_whole and not misfits(reference_claims.requests(ROW, of_answer)[0], second):
        found = RowClaims(ROW, of_answer, of_reference, Spend())
        reasons = {metric.row_score(found).reason for metric in METRICS}
        assert reasons <= {None, "no_claims", "no_claim_retrieved"}
