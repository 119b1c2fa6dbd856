import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges import fence, fenced


@given(texts=st.lists(st.text(), min_size=1, max_size=4))
def test_texts_come_out_as_they_went_in(texts: list[str]) -> None:
    """Whatever they are: each stands whole after its mark and before the next one, and nowhere else is a mark."""
    prompt = fenced("chunk", *texts)
    mark = prompt.split("\n", 1)[0].removeprefix("<chunk 1 ").removesuffix(">")
    assert re.fullmatch("[0-9a-f]{6,}", mark)
    assert prompt.count(mark) == len(texts) + 1
    first, *others = re.split(rf"\n?<chunk \d+ {mark}>\n", prompt.removesuffix(f"\n</chunk {mark}>"))
    assert (first, others) == ("", texts)
    assert fenced("chunk", *texts) == prompt


def test_a_text_that_knows_its_mark_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that closes the fence itself, by luck or by work, does not: the mark that it lacks is a longer one."""
    monkeypatch.setattr(fence, "_DIGITS", 1)
    text = "0123456789abcdef"
    mark = fenced("answer", text).split()[2].removesuffix(">")
    assert len(mark) > 1
    assert mark not in text


def test_no_text_is_logged() -> None:
    """A fence around nothing would be a text that is empty."""
    assert fenced("chunk") == "(no chunk)"
    assert fenced("chunk", "").startswith("<chunk 1 ")
