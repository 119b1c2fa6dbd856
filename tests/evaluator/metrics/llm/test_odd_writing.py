"""Right replies in odd writing: what a judge finds is the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.schema import MisfitError, read
from evaluator.metrics.llm.claims import answer_claims, reference_claims
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer
from tests.evaluator.metrics.llm.judging import answered, judging, scored
from tests.evaluator.metrics.llm.test_any_reply import COMPARISON, REPLY, ROW, reply, whole_replies

WORDS = {
    "S": ["s", "Supported", "SUPPORTED.", "supports", "entailment", " S "],
    "C": ["c", "Contradicted", "contradicts", "contradiction"],
    "N": ["n", "Neither", "not supported", "NOT_SUPPORTED", "neutral"],
}
EXTRA = {"why": "Chunk {1} says </think> so", "confidence": 0.5, "notes": None, "more": [{"verdict": "C"}]}
BEFORE = ["", "Here: ", "By {chunk 1} and {}: ", "```json\n", "<think>\nIs it {\"refusal\": true}? {No}\n</think>\n",
          "It may be so.\n</think>\n", "<thinking></thinking>"]  # fmt: skip
AFTER = ["", "\n```", " I hope that {this} helps.", "\n{}", ' {"note": 1}']


@st.composite
def numbers(draw: st.DrawFn, value: list[int]) -> Any:
    """A list of numbers in other writing."""
    if not value:
        return draw(st.sampled_from([[], None]))
    several = [", ".join(map(str, value)), [f"chunk {number}" for number in value], [draw(oddly(one)) for one in value]]
    return draw(st.sampled_from([*several, value[0]] if len(value) == 1 else several))


@st.composite
def oddly(draw: st.DrawFn, value: Any) -> Any:
    """The value in other writing."""
    if isinstance(value, dict):
        written = {
            name: draw(numbers(item) if name in ("chunks", "useful") else oddly(item)) for name, item in value.items()
        }
        return written | {name: EXTRA[name] for name in draw(st.sets(st.sampled_from(sorted(EXTRA)), max_size=2))}
    if isinstance(value, list):
        return [draw(oddly(item)) for item in value]
    if isinstance(value, bool):
        return draw(st.sampled_from([value, str(value), "yes" if value else "no"]))
    if isinstance(value, int):
        return draw(st.sampled_from([value, str(value), float(value), f"{value}.0"]))
    return draw(st.sampled_from([value, *WORDS.get(value, [])]))


@st.composite
def written(draw: st.DrawFn, strict: Any) -> str:
    """A reply as text."""
    text = json.dumps(draw(oddly(strict)), indent=draw(st.sampled_from([None, 2])))
    return f"{draw(st.sampled_from(BEFORE))}{text}{draw(st.sampled_from(AFTER))}"


@given(st.data(), whole_replies() | st.tuples(REPLY, COMPARISON))
def test_odd_writing_gives_the_same_claims(data: st.DataObject, replies: tuple[Any, Any]) -> None:
    """Whatever mix of prose, thoughts, extra keys, words and numbers: the claims are those of the strict reply."""
    of_answer, of_odd_answer = (
        answer_claims.read(ROW, [reply(read(text, answer_claims.requests(ROW)[0].schema))])
        for text in (json.dumps(replies[0]), data.draw(written(replies[0])))
    )
    assert of_odd_answer == of_answer
    schema = reference_claims.requests(ROW, of_answer)[0].schema
    of_reference, of_odd_reference = (
        reference_claims.read(ROW, of_answer, [reply(read(text, schema))])
        for text in (json.dumps(replies[1]), data.draw(written(replies[1])))
    )
    assert of_odd_reference == of_reference


def without(value: Any, name: str) -> Any:
    return {key: item for key, item in value.items() if key != name}


@given(st.data(), whole_replies(), st.sampled_from(["sentences", "useful", "refusal"]))
def test_a_reply_that_lacks_a_part_is_refused_in_any_writing(
    data: st.DataObject, replies: tuple[Any, Any], name: str
) -> None:
    """Odd writing is forgiven, a missing part is not."""
    with pytest.raises(MisfitError):
        read(data.draw(written(without(replies[0], name))), answer_claims.requests(ROW)[0].schema)


@pytest.mark.parametrize(
    "reply",
    [
        answered([[([1], "s")], [([], "Neither")]]).replace("[1]", '["1"]').replace("[]", "null"),
        f"<think>S or {{N}}?</think>```json\n{answered([[([1], 'S')], [([], 'N')]])}\n```\nIs {{this}} well?",
        answered([[([1], "Supported")], [([], "N")]]).replace('"refusal"', '"why": "so", "refusal"'),
    ],
)
def test_an_oddly_written_reply_is_one_call(bench: Bench, server: ScriptedServer, reply: str) -> None:
    """It need not be asked for again, which would be paid."""
    server.always = judging(reply)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims")
    assert (score.value, score.spend.calls) == (0.5, 1)
