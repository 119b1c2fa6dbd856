from __future__ import annotations

import io
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pandas as pd

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from evaluator.metrics import compute
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.parsing.core_lines import core_line
from tests.monitor.notify.test_messages import change

PAGE = (Path(__file__).parents[2] / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCKS = [
    textwrap.dedent(block) for block in re.findall(r"^    ```python\n(.*?)^    ```", PAGE, re.DOTALL | re.MULTILINE)
]


def run(number: int) -> dict[str, Any]:
    """What the example of a recipe defines."""
    names: dict[str, Any] = {"__name__": f"recipe_{number}"}
    exec(compile(BLOCKS[number], f"recipe {number}", "exec", dont_inherit=True), names)
    return names


def test_the_metric_of_the_recipe_scores() -> None:
    """Half of the question's words are repeated; a question or an answer that is missing is a reason."""
    metric = run(0)["question_echo"]()
    frame = pd.DataFrame({"question": ["How long?", None, "How?"], "answer": ["Long.", "Long.", None]})
    scores = compute(frame, [metric])
    assert scores["question_echo"].tolist()[0] == 0.5
    assert scores["question_echo_reason"].tolist() == [None, "no_question", "no_answer"]


def test_the_source_of_the_recipe_collects(tmp_path: Path) -> None:
    """Each line is a row, once, however often the same run is read."""
    lines = core_line() + b"\n" + core_line({"trace.core_span_id": "b" * 16}) + b"\n"
    source = run(1)["StdinSource"]
    lake = Lake(str(tmp_path))
    assert source(io.BytesIO(lines), "run-1").read_into(Collector(lake, CollectorSettings())) == 2
    assert lake.table(PARSED_LOGS, "rag-app").read(["source"]).num_rows == 2


def test_the_receiver_of_the_recipe_gets_a_text() -> None:
    """The message is JSON with one text, without a mark of a link."""
    body = json.loads(run(2)["google_chat_body"]([change(1, 0, "<!all>")], "team", "https://dialwatch.example.com/"))
    assert list(body) == ["text"]
    assert "<" not in body["text"]


def test_all_examples_of_the_recipes_can_be_compiled() -> None:
    """Those of the limit, the prompt and the page need what is beside them, and are only read."""
    assert len(BLOCKS) == 6
    for block in BLOCKS:
        compile(block, "recipe", "exec", dont_inherit=True)
