"""A metric of your own, and a question of your own that a judge answers.

`python examples/custom_metric_and_aspect.py` computes the metric.
`python examples/custom_metric_and_aspect.py URL MODEL` also asks the model at URL whether the answers are polite.
It must speak OpenAI's chat completions; for Ollama the URL is `http://localhost:11434/v1`.
"""

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.settings import JudgeSettings
from evaluator.metrics import AspectCritique, Description, OddCases, Score, Scores, compute


@dataclass(frozen=True)
class HasLink:
    """1.0 if the answer has a link, else 0.0."""

    name = "has_link"
    version = "1"  # change it whenever a row may get another value
    needs = ("answer",)
    judge = "lexical"
    about = Description(
        asks="Does the answer lead on to a page?",
        formula="1 if the answer has a link that begins with http:// or https://, else 0",
        source="this example",
        odd_cases=OddCases(empty_answer="0, null with `no_answer` for a missing cell"),
        binary=True,
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row; what cannot be scored is null with a reason, and never an exception."""
        return Scores.of([self._score_row(answer) for answer in frame["answer"]], frame.index)

    def _score_row(self, answer: object) -> Score:
        if not isinstance(answer, str):
            return Score(None, "no_answer")
        return Score(float(re.search(r"https?://\w", answer) is not None))


frame = pd.DataFrame(
    {
        "question": ["Where is the form?", "Where is the form?", "Where is the form?"],
        "answer": ["Please see https://example.com/form.", "Find it yourself.", None],
    }
)
print(compute(frame, [HasLink()]))

if len(sys.argv) > 1:
    url, model = sys.argv[1:]
    # A judge without prices is refused unless you allow it, so that no cost goes unnoticed.
    settings = JudgeSettings(base_url=url, model=model, allow_unpriced=True)
    with tempfile.TemporaryDirectory() as folder:
        client = JudgeClient({"mine": settings}, Path(folder) / "calls.sqlite")
        polite = AspectCritique(
            aspect="politeness",
            definition="Is the answer polite?",
            direction="up",
            judged_by=client.judge("mine"),
        )
        print(compute(frame, [polite]))
        client.close()
