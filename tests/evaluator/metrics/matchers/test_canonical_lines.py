"""All contexts of a row as lines of one text, against the plain way: context by context, fact by fact."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics.matchers.canonical import canonical, canonical_origins
from evaluator.metrics.matchers.canonical_lines import CanonicalLines

ASCII = st.text(alphabet="ab1 .-_\n\x00", max_size=20)
ANY = st.text(alphabet=st.one_of(st.sampled_from("abİΣς .-\n_é你1\uffff\x80😀𝐚\ud800"), st.characters()), max_size=20)
TEXTS = st.one_of(st.lists(ASCII, max_size=4), st.lists(ANY, max_size=4))


def plain_places(fact: str, contexts: list[str]) -> list[tuple[int, tuple[int, int]]]:
    """The definition: where a canonical fact stands first in each canonical context, in its own characters."""
    found = [(line, canonical(context).find(fact), canonical_origins(context)) for line, context in enumerate(contexts)]
    return [(line, (origins[at], origins[at + len(fact)])) for line, at, origins in found if at >= 0]


@example(["a  b", "", " b a"], "b")
@example(["a“b”", "\uffff a"], "")
@example(["İ x", "in İ  x"], " x")
@example([], "")
@example([""], "")
@given(TEXTS, st.one_of(ASCII, ANY))
def test_a_fact_stands_where_the_definition_finds_it(contexts: list[str], fact: str) -> None:
    """Any texts, of one, two or four bytes a character: lines, places and spans are those of the plain search."""
    lines = CanonicalLines.of(contexts)
    assert lines.text == "".join(f"{canonical(context)}\n" for context in contexts)
    for form in {canonical(fact), canonical(fact).strip(), *(canonical(context)[1:4] for context in contexts)}:
        found = [(line, lines.span(line, at, len(form))) for line, at in lines.places(form)]
        assert found == plain_places(form, contexts)


def test_every_character_of_two_bytes_is_canonical_in_a_line_as_by_itself() -> None:
    """All that the quick way takes: texts with a character of more bytes, or of two small letters, go another."""
    texts = [f"é{chr(code)}x" for code in range(0x10000 - 1) if chr(code) != "İ"]
    lines = CanonicalLines.of(texts)
    assert lines.kept is not None
    assert lines.text.split("\n")[:-1] == [canonical(text) for text in texts]
