"""Words of scripts that put no spaces between them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import metric_named, tokens, tokens_of_any_script


def value(name: str, **row: Any) -> float:
    frame = pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in row.items()})
    return float(metric_named(name).score(frame).values.iloc[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你好世界", ["你", "好", "世", "界"]),
        ("東京タワーは高い。", ["東", "京", "タワ", "ワー", "ーは", "高", "い"]),
        ("第12章。see GPT-4模型", ["第", "12", "章", "see", "gpt4", "模", "型"]),
        ("กทม ABC", ["กท", "ทม", "abc"]),
        ("the “quoted” café", ["“quoted”", "café"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("Привет, мир", ["привет", "мир"]),
    ],
)
def test_words_without_spaces_are_cut_small(text: str, expected: list[str]) -> None:
    """Chinese into characters, kana and Thai into pairs; what has spaces is left to them."""
    assert tokens_of_any_script(text) == expected


@given(st.text(alphabet=st.sampled_from("aA the.,'é한Яß1 \n")))
def test_spaced_languages_keep_unitxts_tokens(text: str) -> None:
    """The option changes no number where words have spaces."""
    assert tokens_of_any_script(text) == tokens(text)


def test_a_partly_right_chinese_answer_is_partly_right() -> None:
    """One giant token is all or nothing; characters grade."""
    row = {"answer": "巴黎是法国的首都。", "reference_answers": ["法国的首都是巴黎"]}
    assert value("answer_correctness_token_f1", **row) == 0.0
    assert value("answer_correctness_token_f1_any_script", **row) == 1.0
    contexts = ["首都巴黎位于法国北部"]
    assert value("faithfulness_kprecision_any_script", answer="巴黎在法国", contexts=contexts) == 4 / 5
    assert value("context_relevance_token_precision_any_script", question="法国首都", contexts=contexts) == 1.0


def test_an_unlike_thai_context_supports_little() -> None:
    """A paragraph holds nearly all letters of any Thai sentence and few of its pairs, so pairs are counted."""
    answer = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"
    whale = (
        "ปลาวาฬสีน้ำเงินเป็นสัตว์เลี้ยงลูกด้วยนมที่ใหญ่ที่สุดในโลก มีความยาวได้ถึงสามสิบเมตร อาศัยอยู่ในมหาสมุทรทุกแห่ง "
        "กินเคยเป็นอาหารวันละหลายตัน และเคยถูกล่าจนเกือบสูญพันธุ์ก่อนที่จะได้รับการคุ้มครอง"
    )
    assert (Counter(answer) & Counter(whale)).total() / len(answer) > 0.9
    assert value("faithfulness_kprecision_any_script", answer=answer, contexts=[whale]) < 0.4
