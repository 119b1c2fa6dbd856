"""Toxicity by a classifier."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from evaluator.metrics import ModelUnavailableError, Toxicity, compute
from evaluator.models import Models
from tests.evaluator.models.small_models import save_deberta

ANSWERS = ["Delhi is the seat of government.", "Go away!", "42", "Wholly other words, and many more of them."]
LABELS = ["toxicity", "severe_toxicity", "insult"]


def logits(model: str, answer: str) -> torch.Tensor:
    """The model's own answer, as transformers gives it."""
    classifier = AutoModelForSequenceClassification.from_pretrained(model).eval()
    with torch.inference_mode():
        found: torch.Tensor = classifier(**AutoTokenizer.from_pretrained(model)(answer, return_tensors="pt")).logits[0]
    return found.double()


def scored(models: Models, answers: list[str | None]) -> pd.DataFrame:
    return compute(pd.DataFrame({"answer": pd.Series(answers, dtype=object)}), ["toxicity"], models)


def test_it_is_the_probability_of_the_label_for_abuse(models: Models) -> None:
    """Of two labels `nothate` and `hate` the second, by softmax; answers do not depend on each other."""
    expected = [float(logits(models.toxicity, answer).softmax(0)[1]) for answer in ANSWERS]
    assert scored(models, [*ANSWERS]).toxicity.tolist() == pytest.approx(expected, abs=1e-5)
    assert len(set(expected)) == len(ANSWERS)


def test_labels_that_are_questions_of_their_own_have_a_sigmoid_each(models: Models, tmp_path: Path) -> None:
    """Of several kinds of abuse the one that is called toxic is asked for."""
    folder = save_deberta(tmp_path / "several", LABELS, problem_type="multi_label_classification")
    several = models.model_copy(update={"toxicity": str(folder)})
    expected = [float(logits(str(folder), answer).sigmoid()[0]) for answer in ANSWERS]
    assert scored(several, [*ANSWERS]).toxicity.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_long_answer_is_as_toxic_as_its_worst_window(models: Models) -> None:
    """All of it is read, in windows of 512 tokens of which 64 are shared with the one before."""
    long = "Iseran" * 300 + "42" * 600
    tokenizer = AutoTokenizer.from_pretrained(models.toxicity)
    cut = tokenizer(long, truncation=True, max_length=512, stride=64, return_overflowing_tokens=True)["input_ids"]
    classifier = AutoModelForSequenceClassification.from_pretrained(models.toxicity).eval()
    with torch.inference_mode():
        windows = [float(classifier(torch.tensor([ids])).logits[0].double().softmax(0)[1]) for ids in cut]
    assert max(windows) > windows[0] + 1e-3, "the first window is not the worst"
    assert scored(models, [long]).toxicity.iloc[0] == pytest.approx(max(windows), abs=1e-5)


def test_where_there_is_nothing_to_read(models: Models) -> None:
    """An empty answer is not abusive, and not the contrary either; giant ones would hold up the others."""
    found = scored(models, [None, "", " \n", "word " * 100_001, ANSWERS[0]])
    assert found.toxicity_reason.tolist() == ["no_answer", "no_answer", "no_answer", "too_long", None]


def test_a_model_without_such_a_label_is_none_for_it(models: Models) -> None:
    """Its name and its labels are in the message."""
    other = models.model_copy(update={"toxicity": models.entailment})
    with pytest.raises(ModelUnavailableError, match="small-nli' has no one label `toxic` or `hate` but contradiction"):
        scored(other, [ANSWERS[0]])


def test_the_version_names_the_model(models: Models) -> None:
    """Scores of two classifiers are two streams."""
    assert Toxicity(models=models).version == "1-small-toxicity"
    assert Toxicity().version == "1-roberta-hate-speech-dynabench-r4-target"
