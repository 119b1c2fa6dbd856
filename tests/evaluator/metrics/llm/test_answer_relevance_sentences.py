"""Answer relevance by sentences: what of an answer in Markdown is a sentence that may address the question."""

import pytest

from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer
from tests.evaluator.metrics.llm.judging import answered, judging, row, scored


def test_code_and_headings_are_no_sentences_that_address_a_question(bench: Bench, server: ScriptedServer) -> None:
    """They count where there is nothing else."""
    code = "```python\nx = f(1)\nprint(x)\n```"
    server.always = judging(answered([[]] * 6, addresses="nnynnn"))
    mixed = row(answer=f"## Calling it\n\nDo this:\n\nCall f with 1.\n\n{code}")
    with bench.client() as client:
        (score,) = scored(client, "answer_relevance_sentences", mixed)
        assert (score.value, score.details) == (1.0, {"addressing": [3], "sentences": 1})
        server.always = judging(answered([[]] * 6, addresses="nnnyny"))
        marked = row(answer="Calling it\n=====\n\n__Steps__\n\n1.\nStart the tool.\n2.\nCall it.")
        assert scored(client, "answer_relevance_sentences", marked)[0].details == {"addressing": [4, 6], "sentences": 2}
        server.always = judging(answered([[]] * 3, addresses="nyy"))
        (alone,) = scored(client, "answer_relevance_sentences", row(answer=code))
    assert alone.value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("answer", "prose"),
    [
        ("Call it.\n\n    x = f(1)\n    print(x)\n\nThen stop it.", [1, 4]),
        ("Run it.\n\n\tnpm install dialwatch\n\tnpm start\n\nThen open the page.", [1, 3]),
        ("1. Open the menu.\n\n    It is at the top.\n\n2. Press Save.\n\n       x = f(1)\n", [1, 2, 3]),
        ("- Open the menu.\n    - Press Save.\n    It is blue.", [1, 2, 3]),
        ("Plan | Price\n--- | ---\nBasic | 10\nPro | 20\n\nBoth run a year.", [2]),
        ("Plan | Price\n:-- | --:\nBasic | 10\n\nBoth run a year.", [3]),
        ("| Plan | Price |\n|---|---|\n| Basic | 10 |\n\nBoth run a year.", [3]),
        ("Use a | b to choose.\nIt takes both.", [1, 2]),
        ("<details>\n\n***Steps***\n\nIV.\n\n**The fee is 40 euros.**\n\n</details>", [4]),
        ("```pip install x```\n\nThen run it.\n\nIt is quick.", [2, 3]),
        ("```pip``` installs it.\n\nThen run it.", [1, 2]),
        ("• Open the menu.\n\n    It is at the top", [1, 2]),
        ("– Open the menu.\n\n    It is at the top", [1, 2]),
        ("(1) Open the menu.\n\n    It is at the top", [1, 2]),
        ("a) Open the menu.\n\n    It is at the top", [1, 2]),
        ("Do it\n\n    1. Open the door.\n    2. Close it.\n       It is heavy", [1, 2, 3, 4]),
        ("Do it.\n\n    Open the door.\n\n    x = f(1)\n    - y", [1, 2]),
        ("So it is.\n\n\u00a0\u00a0\u00a0\u00a0It is Paris", [1, 2]),
        ("|x| is the absolute value of |y|", [1]),
        ("| Basic | 10 |\n| Pro | 20 |\n\nBoth run a year.", [3]),
        ("**It is Paris.**\n\n**Yes, it is.**\n\n__No, it is not.__\n\n**パリです。**\n\n**Note.**", [1, 2, 3, 4]),
    ],
)
def test_indented_code_rows_of_tables_and_tags_are_no_sentences(
    bench: Bench, server: ScriptedServer, answer: str, prose: list[int]
) -> None:
    """As Markdown has them: within an item of a list, indented text is prose; a bar alone makes no table."""
    server.always = judging(answered([[]] * 6, addresses="yyyyyy"))
    with bench.client() as client:
        (score,) = scored(client, "answer_relevance_sentences", row(answer=answer))
    assert score.details == {"addressing": prose, "sentences": len(prose)}
