import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.plain_values import plain

VERDICT = {"type": "string", "enum": ["S", "C", "N"]}
WORDS = {
    "S": ["S", "s", "Supported", "support", "entailed", "Fully supported"],
    "C": ["C", "Contradicted", "contradiction", "refuted"],
    "N": ["N", "Neutral", "not supported", "not_mentioned", "no evidence", "unsupported"],
}
ALL_WORDS = [word for words in WORDS.values() for word in words]
SEPARATORS = [": ", ":", " = ", "=", " - ", " – ", "—", ", ", "; ", ". ", " (", "\n- ", "_:_"]
DENIALS = [
    *("no", "No.", "not", "none", "false", "False!", "0", "0.0", "0.3", "zero", "null", "n/a", "never", "nothing"),
    *(
        "partly",
        "partially",
        "only partly",
        "weak",
        "low",
        "30%",
        "unclear",
        "unknown",
        "maybe",
        "hardly",
        "?",
        "-",
    ),
    *("it is not", "isn't stated", "no chunk 1", "not by chunk 1", "false, says chunk 1", "chunk 1 but not all of it"),
    *("nein", "Chunk 1 sagt das nicht", "нет", "❌", "chunk 1 ✗", "some", "x", "whatever that is", "yes and no"),
]
"""What follows a word and may deny, change or hedge it; none of them agrees with a verdict."""

NEUTRAL = ("some", "x", "whatever that is")
MORE = st.text(max_size=20) | st.sampled_from(["- chunk 1 says so", "in chunk 2", "by the text", "so", "(stated)"])


def meant(said: str) -> str | None:
    found = plain(said, VERDICT)
    return found if found in WORDS else None


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("Supported: yes", "S"),
        ("supported = TRUE", "S"),
        ("S: supported", "S"),
        ("S, S", "S"),
        ("**S** - chunk 1 says so", "S"),
        ("S. Stated in the source.", "S"),
        ("Entailment: chunks 1 and 2", "S"),
        ("verdict: S (chunk 3's text)", "S"),
        ("S,", "S"),
        ("C - chunk 1 says the opposite", "C"),
        ("Contradiction: yes, by chunk 2", "C"),
        ("C: contradicted by chunk 2", "C"),
        ("N - not mentioned", "N"),
        ("N: no chunk says so", "N"),
        ("N (none of the chunks)", "N"),
        ("N - the chunks do not mention it", "N"),
        ("Neutral: not enough information", "N"),
        ("not supported - chunk 1 is about lakes", "N"),
        ("N - not covered", "N"),
        ("N: not specified", "N"),
        ("N (no information)", "N"),
        ("N - not enough evidence", "N"),
        ("✅ **S**", "S"),
        ("❌ (N)", "N"),
    ],
)
def test_what_agrees_with_a_verdict_is_that_verdict(said: str, letter: str) -> None:
    assert meant(said) == letter


@pytest.mark.parametrize("word", ALL_WORDS)
def test_a_word_that_is_denied_is_no_verdict(word: str) -> None:
    """Whatever stands between them: it is asked again, and never read as the opposite."""
    said = {f"{word}{separator}{denial}" for separator, denial in itertools.product(SEPARATORS, DENIALS)}
    assert {one for one in said if meant(one) and not (word in WORDS["N"] and "no chunk" in one)} == set()


@given(st.sampled_from(ALL_WORDS), st.sampled_from(SEPARATORS), st.sampled_from(ALL_WORDS), MORE)
def test_two_verdicts_are_none(one: str, separator: str, other: str, more: str) -> None:
    """A word that is followed by one of another verdict, and by anything, is never read as any verdict."""
    letters = [next(letter for letter, words in WORDS.items() if word in words) for word in (one, other)]
    if letters[0] != letters[1]:
        assert meant(f"{one}{separator}{other} {more}") is None


@pytest.mark.parametrize(
    "said",
    [
        *("S; C", "S, N", "S/C", "S or N", "S (N)", "[S] N", "S? C!", "S. N", "verdict: S, label: C"),
        *(
            "contradiction-free",
            "support-free text",
            "C, chunk 1 supports it",
            "supported-ish",
            "non-supported",
            "unsupportable",
            "no contradiction",
        ),
        *("N - stated in chunk 1", "N - no, it is supported", "N - not mentioned in chunk 2 but in chunk 1", "N: no"),
        *("not supported: false", "unsupported: no, chunk 1 says so", "not label: S", "S - not only chunk 1"),
        *("C - no, chunk 1 says so", "Contradiction: none in the chunks", "S - the opposite of chunk 1"),
    ],
)
def test_what_may_mean_several_things_is_no_verdict(said: str) -> None:
    assert meant(said) is None, json.dumps(said)


def test_a_verdict_of_spaces_is_read_in_no_time() -> None:
    """Another word far behind a verdict is another word."""
    for text in ("S", "label", "S by", "✅", "S -"):
        assert meant(text + " " * 200_000 + "x") is None


FACT = {
    "type": "object",
    "properties": {"fact": {"type": "string"}, "verdict": VERDICT},
    "required": ["fact", "verdict"],
    "additionalProperties": False,
}


def meant_of(fact: str, said: str, **beside: str) -> str | None:
    found = plain({"fact": fact, "verdict": said} | beside, FACT)["verdict"]
    return found if found in WORDS else None


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("S - The river is long", "S"),
        ("S: The river is long.", "S"),
        ("Supported – the river is long", "S"),
        ("S. 1. The river is long", "S"),
        ("not supported: The river is long.", "N"),
        ("N - The river is long", "N"),
        ("C (The river is long.)", "C"),
        ("S - mentioned verbatim", "S"),
    ],
)
def test_a_verdict_may_repeat_the_fact_that_it_is_about(said: str, letter: str) -> None:
    """It is the whole fact, or nothing is read: a part of it may be all that is meant."""
    assert meant_of("The river is long.", said) == letter
    assert meant_of("Another fact of words.", said, text="The river is long.") == letter
    assert meant_of("The river is long in summer.", said) == (letter if "verbatim" in said else None)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("No.", "Supported: no"),
        ("Not supported.", "S - not supported"),
        ("It is not stated there.", "S - it is not stated there"),
        ("Lakes contradict it all.", "S - lakes contradict it all"),
        ("It is stated there.", "N - it is stated there"),
        ("Red.", "S - blue"),
        ("Is red.", "S - is blue"),
        ("The river is long.", "S - The river is long, or so it seems"),
        ("The river is long.", "S - The river is short"),
        ("The river is long.", "S The river is long."),
    ],
)
def test_a_fact_that_may_deny_its_verdict_is_no_ground(fact: str, said: str) -> None:
    assert meant_of(fact, said) is None


@given(st.sampled_from(ALL_WORDS), st.sampled_from(SEPARATORS), st.sampled_from(DENIALS), MORE, st.booleans())
def test_a_denial_that_repeats_a_fact_is_still_none(
    word: str, separator: str, denial: str, more: str, is_all: bool
) -> None:
    """Whatever the fact is: where it denies, it is asked again."""
    said = f"{word}{separator}{denial}"
    if not (word in WORDS["N"] and "no chunk" in said):
        assert meant_of(denial if is_all else f"{denial} {more}", said) is None or denial in NEUTRAL


def test_other_words_have_no_verdicts_in_them() -> None:
    """A list of other words, even with an S among them, means what it says."""
    schema = {"type": "string", "enum": ["S", "too_long"]}
    assert plain("supported", schema) == "supported"
    assert plain("Too long", schema) == "too_long"
    assert plain("Too long - S", schema) == "Too long - S"


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("✅ S", "S"),
        ("✔️ Supported", "S"),
        ("❌ N", "N"),
        ("🔴 Contradicted", "C"),
        ("❌ S", None),
        ("✅ N", None),
        ("✅ contradicted", None),
        ("Not supported by any chunk", "N"),
        ("Not mentioned in the context", "N"),
        ("Contradicted in chunk 2", "C"),
        ("支持", "S"),
        ("不支持", "N"),
        ("未提及", "N"),
        ("矛盾", "C"),
        ("部分支持", None),
    ],
)
def test_ticks_places_and_chinese_words_are_read_where_they_agree(said: str, letter: str | None) -> None:
    """A tick before a denial, or a cross before support, is no verdict."""
    found = plain(said, VERDICT)
    assert (found if found in WORDS else None) == letter
