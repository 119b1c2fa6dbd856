import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges import fence, fenced


@given(texts=st.lists(st.text(), min_size=1, max_size=4))
def test_texts_come_out_as_they_went_in(texts: list[str]) -> None:
    """Whatever they are: between its two marks each stands whole, and nowhere else is a mark."""
    prompt = fenced("chunk", *texts)
    mark = prompt.split("\n", 1)[0].removeprefix("<chunk 1 ").removesuffix(">")
    assert re.fullmatch("[0-9a-f]{16}", mark)
    assert prompt.count(mark) == 2 * len(texts)
    parts = re.findall(rf"<chunk \d+ {mark}>\n(.*?)\n</chunk \d+ {mark}>", prompt, flags=re.DOTALL)
    assert parts == texts
    assert fenced("chunk", *texts) == prompt


def test_a_text_that_knows_its_mark_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that closes the fence itself, by luck or by work, does not."""
    monkeypatch.setattr(fence, "_DIGITS", 1)
    text = "0123456789abcde"
    assert hashlib.sha256(text.encode()).hexdigest()[0] in text
    assert fenced("answer", text).startswith("<answer 1 f>")
