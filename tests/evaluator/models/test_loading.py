"""Loading of models: found on this machine and loaded once, or an error says why not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from evaluator.metrics import AnswerReward, ModelUnavailableError, SemanticSimilarity, metric_named
from evaluator.models import Models, sentence_encoder, target_likelihood, text_classifier

FRAME = pd.DataFrame({"question": ["q"], "answer": ["a"], "reference_answers": [["r"]], "contexts": [["c"]]})


def test_a_model_that_is_not_there_is_named_with_where_it_was_looked_for_and_what_to_do() -> None:
    """Nothing is downloaded: the message says how to provide it."""
    with pytest.raises(ModelUnavailableError) as error:
        SemanticSimilarity(models=Models(sentence_encoder="nobody/no-such-model")).score(FRAME)
    for part in (
        "'nobody/no-such-model' for sentence_encoder is not on this machine",
        str(Path("nobody/no-such-model").absolute()),
        "in the cache ",
        "DIALWATCH_EVALUATOR__MODELS__SENTENCE_ENCODER",
        "hf download nobody/no-such-model",
    ):
        assert part in str(error.value)


def test_a_folder_that_holds_no_model_is_an_error(tmp_path: Path) -> None:
    """The cause is in the message."""
    with pytest.raises(ModelUnavailableError, match=r"is not on this machine\. Set evaluator\.models\.answer_reward"):
        AnswerReward(models=Models(answer_reward=str(tmp_path))).score(FRAME)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelUnavailableError, match="cannot be loaded: "):
        AnswerReward(models=Models(answer_reward=str(tmp_path))).score(FRAME)


@pytest.mark.integration
def test_without_torch_the_metric_says_what_to_install_and_the_others_work() -> None:
    """The library is usable without the extra for models."""
    code = """
import sys
sys.modules["torch"] = None
import pandas as pd
from evaluator.metrics import AnswerReward, ModelUnavailableError, compute
frame = pd.DataFrame({"question": ["q"], "answer": ["a b"], "contexts": [["a b"]]})
print(compute(frame, ["faithfulness_kprecision"]).iloc[0, 0])
try:
    AnswerReward().score(frame)
except ModelUnavailableError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "1.0\n" in ended.stdout
    assert "pip install '.[models]' in a checkout" in ended.stdout


@pytest.mark.integration
def test_torch_is_imported_by_the_first_score_and_not_before() -> None:
    """Whoever uses no model does not wait for torch."""
    code = "import sys, evaluator.metrics, dialwatch.cli; print('torch' in sys.modules, 'transformers' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "False"]


def test_a_model_is_loaded_once_a_process(models: Models) -> None:
    """Whoever asks for it, in whatever role of text."""
    again = models.model_copy()
    assert target_likelihood(models) is target_likelihood(again)
    assert sentence_encoder(models) is sentence_encoder(again)
    assert text_classifier(models, "entailment").loaded is text_classifier(again, "entailment").loaded


def test_a_copy_in_a_folder_is_the_same_version_as_the_model_by_its_name() -> None:
    """Scores go on when a machine without a network gets the model as a folder."""
    by_name, by_folder = Models(), Models(answer_reward="/models/reward-model-deberta-v3-large-v2")
    assert AnswerReward(models=by_name).version == AnswerReward(models=by_folder).version
    assert metric_named("answer_reward", Models(answer_reward="other")).version == "1-other"


def test_settings_that_no_machine_has_are_refused() -> None:
    """The error names the value."""
    with pytest.raises(ValueError, match="device"):
        Models(device="tpu")


def test_weights_that_are_missing_are_not_made_up(models: Models, tmp_path: Path) -> None:
    """A model without its head would give scores of chance."""
    headless = shutil.copytree(models.sentence_encoder, tmp_path / "headless")
    with pytest.raises(ModelUnavailableError, match=r"its files lack the weights classifier\.bias"):
        AnswerReward(models=Models(answer_reward=str(headless))).score(FRAME)


@pytest.mark.integration
def test_the_library_of_metrics_loads_nothing_of_the_service() -> None:
    """A team that wants metrics in a notebook needs no lake; only the words of its columns and texts are imported."""
    code = """
import sys
for name in ("deltalake", "s3fs", "fsspec", "collector", "monitor", "dialwatch", "torch", "transformers"):
    sys.modules[name] = None
import pandas as pd
from evaluator.metrics import compute
print(compute(pd.DataFrame({"answer": ["a"], "contexts": [["a b"]]}), ["context_present"]).iloc[0, 0])
print(sorted(name for name in sys.modules if name.partition(".")[0] == "lake"))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    words = [
        "lake",
        "lake.spec",
        "lake.spec.answer_kinds",
        "lake.spec.case_vocabulary",
        "lake.spec.message_parts",
        "lake.spec.texts",
        "lake.spec.texts.refusals",
        "lake.spec.texts.unicode_forms",
        "lake.spec.thoughts",
        "lake.spec.tool_calls",
        "lake.spec.tool_messages",
        "lake.spec.vocabulary",
    ]
    assert ended.stdout == f"1.0\n{words}\n"
