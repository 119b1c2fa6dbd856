import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges import fence
from evaluator.judges.fence import fenced, with_marks

SECRET = b"of one installation"


def mark_of(prompt: str, name: str = "chunk") -> str:
    return prompt.split("\n", 1)[0].removeprefix(f"<{name} 1 ").removesuffix(">")


@given(texts=st.lists(st.text(st.characters(exclude_characters="\0")), min_size=1, max_size=4))
def test_texts_come_out_as_they_went_in(texts: list[str]) -> None:
    """Whatever they are: each stands whole after its mark and before the next one, and nowhere else is a mark."""
    prompt = with_marks(fenced("chunk", *texts), SECRET)
    mark = mark_of(prompt)
    assert re.fullmatch("[0-9a-f]{6,}", mark)
    assert prompt.count(mark) == len(texts) + 1
    first, *others = re.split(rf"\n?<chunk \d+ {mark}>\n", prompt.removesuffix(f"\n</chunk {mark}>"))
    assert (first, others) == ("", texts)
    assert with_marks(fenced("chunk", *texts), SECRET) == prompt


def test_a_mark_hangs_on_the_texts_and_on_the_secret() -> None:
    """Who knows all texts of a prompt does not know its marks; equal texts have equal ones, which caches need."""
    one, other = with_marks(fenced("chunk", "a"), SECRET), with_marks(fenced("chunk", "b"), SECRET)
    assert len({mark_of(one), mark_of(other), mark_of(with_marks(fenced("chunk", "a"), b"of another"))}) == 3
    assert mark_of(with_marks(f"{fenced('chunk', 'a')}\n\n{fenced('question', 'q')}", SECRET)) == mark_of(one)


@given(st.text(st.sampled_from("\0 0123456789abcdef<>/chunk\n"), max_size=40))
def test_no_text_makes_a_mark_of_its_own(text: str) -> None:
    """Not with the characters that stand for marks before they are made either: they are replaced in a text."""
    prompt = with_marks(f"{fenced('chunk', text)}\n\n{fenced('question', text)}", SECRET)
    for name in ("chunk", "question"):
        mark = re.search(rf"<{name} 1 ([0-9a-f]+)>", prompt)
        assert mark is not None
        assert prompt.count(mark[1]) == 2
    assert "\0" not in prompt


def test_a_text_that_holds_its_mark_by_luck_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark that it lacks is a longer one."""
    monkeypatch.setattr(fence, "_DIGITS", 1)
    text = "0123456789abcdef"
    mark = mark_of(with_marks(fenced("answer", text), SECRET), "answer")
    assert len(mark) > 1
    assert mark not in text


def test_no_text_is_logged() -> None:
    """A fence around nothing would be a text that is empty."""
    assert fenced("chunk") == "(no chunk)"
    assert fenced("chunk", "").startswith("<chunk 1 ")
