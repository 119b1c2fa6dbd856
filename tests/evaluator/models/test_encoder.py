"""Semantic similarity and the matcher of facts by embeddings, with a real sentence encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from evaluator.metrics import (
    EmbeddingMatcher,
    FactsRecall,
    ModelUnavailableError,
    SemanticSimilarity,
    compute,
    cosine,
    highlights,
    metric_named,
)
from evaluator.models import Models, sentence_encoder
from tests.evaluator.models.real_encoder import real_encoder
from tests.evaluator.models.small_models import save_bert, save_roberta

Saves = Callable[[Path], Path]


@pytest.fixture(scope="module")
def real_models() -> Models:
    """Models of which the sentence encoder is all-MiniLM-L6-v2."""
    return Models(sentence_encoder=real_encoder(), device="cpu")


ANSWERS = ["The contract expires in March 2024.", "Berlin is the capital of Germany.", "word " * 400]
REFERENCES = ["The agreement ends in March 2024.", "Paris is the capital of France.", "Words."]


def test_it_is_the_cosine_that_sentence_transformers_gives(real_models: Models) -> None:
    """Pooling, longest text and tokens are those of the model's folder."""
    peer = SentenceTransformer(real_models.sentence_encoder, device="cpu")
    expected = [
        float(np.dot(*peer.encode([a, r], normalize_embeddings=True))) for a, r in zip(ANSWERS, REFERENCES, strict=True)
    ]
    frame = pd.DataFrame({"answer": ANSWERS, "reference_answers": [[reference] for reference in REFERENCES]})
    assert SemanticSimilarity(models=real_models).score(frame).values.tolist() == pytest.approx(expected, abs=1e-5)
    assert expected[0] > 0.7 > 0.5 > expected[1]


def test_of_several_references_the_best_counts(real_models: Models) -> None:
    """Their order makes no difference."""
    frame = pd.DataFrame({"answer": ANSWERS[:1] * 2, "reference_answers": [REFERENCES, REFERENCES[::-1]]})
    values = SemanticSimilarity(models=real_models).score(frame).values
    assert values[0] == values[1] == pytest.approx(0.8, abs=0.1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=80), min_size=1, max_size=8))
def test_a_vector_does_not_depend_on_the_other_texts(models: Models, texts: list[str]) -> None:
    """A batch of one gives what a batch of many gives, to 1e-5."""
    fresh = models.model_copy(update={"batch_tokens": 1})
    together = sentence_encoder(models).vectors(texts)
    alone = np.concatenate([sentence_encoder(fresh).vectors([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5


@pytest.mark.parametrize(("save", "most"), [(save_bert, 64), (save_roberta, 63)])
def test_of_a_long_text_as_much_is_read_as_the_model_has_positions(tmp_path: Path, save: Saves, most: int) -> None:
    """Some kinds of models count positions from the padding's number on."""
    encoder = sentence_encoder(Models(sentence_encoder=str(save(tmp_path / "encoder"))))
    assert encoder.most_tokens == most
    assert np.allclose(*encoder.vectors(["word " * 100, "word " * 200]))


def test_the_odd_rows(models: Models) -> None:
    """Silence is 0, what is not known is null."""
    frame = pd.DataFrame({"answer": ["", None, "a", "a", ["a"]], "reference_answers": [["r"], ["r"], [], None, ["r"]]})
    scores = compute(frame, [SemanticSimilarity(models=models)])
    assert scores["semantic_similarity_reason"].tolist() == [
        "no_answer", "no_answer", "no_ground_truth", "no_ground_truth", "unreadable_answer",
    ]  # fmt: skip
    assert scores["semantic_similarity"].fillna(-1).tolist() == [0, -1, -1, -1, -1]


def test_a_vector_of_nothing_has_no_cosine() -> None:
    """0 / 0 is null; (3, 4) and (4, 3) have 24 / 25."""
    assert cosine([0, 0], [1, 0]) is None
    assert cosine([3, 4], [4, 3]) == pytest.approx(0.96)


def test_a_fact_in_other_words_is_found(real_models: Models) -> None:
    """The sentence that says it is highlighted; a fact that nobody says stays missing."""
    facts = ["Marie Curie won two Nobel prizes", "The office is closed on Sundays"]
    contexts = ["Radium glows. Curie was awarded the Nobel Prize twice. She was born in Warsaw.", "Nothing of this."]
    matcher = EmbeddingMatcher(models=real_models)
    frame = pd.DataFrame({"facts": [facts], "contexts": [contexts]})
    assert FactsRecall(matcher=matcher).score(frame).details.iloc[0]["facts_ranks"] == [0, -1]
    assert metric_named("facts_recall_embedding", real_models).score(frame).values.tolist() == [0.5]
    pieces = json.loads(highlights(facts, contexts, matcher)[0])["match"]
    assert [piece["text"] for piece in pieces if piece["facts"]] == ["Curie was awarded the Nobel Prize twice."]


def test_the_matcher_says_in_its_version_what_it_compares_with() -> None:
    """Another threshold or model finds other facts."""
    assert FactsRecall(matcher=EmbeddingMatcher()).version.endswith("3-all-MiniLM-L6-v2")
    other = EmbeddingMatcher(0.9, Models(sentence_encoder="/models/e5"))
    assert (other.name, other.version) == ("embedding", "3-e5-threshold=0.9")
    with pytest.raises(ValueError, match="threshold is a cosine"):
        EmbeddingMatcher(1.5)


def test_pooling_by_the_first_token_is_read_and_an_unknown_way_is_refused(tmp_path: Path) -> None:
    """A vector that is pooled in another way than the model was trained for means little."""
    first = save_bert(tmp_path / "first")
    (first / "1_Pooling").mkdir()
    (first / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    mean = save_bert(tmp_path / "mean")
    ours = [sentence_encoder(Models(sentence_encoder=str(folder))).vectors(["a text"]) for folder in (first, mean)]
    assert not np.allclose(*ours)
    odd = shutil.copytree(first, tmp_path / "odd")
    (odd / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ModelUnavailableError, match="pools by pooling_mode_max_tokens"):
        sentence_encoder(Models(sentence_encoder=str(odd)))
    dense = shutil.copytree(mean, tmp_path / "dense")
    (dense / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(ModelUnavailableError, match=r"layer 'sentence_transformers[.]models[.]Dense'"):
        sentence_encoder(Models(sentence_encoder=str(dense)))
