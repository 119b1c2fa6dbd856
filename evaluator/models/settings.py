"""Settings of the local models: which ones, where they are looked for, and how they run."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import Field

from runtime.setting import Section, Setting

ModelName = Annotated[str, Field(min_length=1)]
Tokens = Annotated[int, Field(ge=1)]
Role = Literal["question_likelihood", "answer_reward", "sentence_encoder", "cross_encoder", "entailment", "toxicity"]


class Models(Section):
    """A model for each role, by a name or a folder, and how all of them run.

    A name such as `google/flan-t5-small` is looked for in the offline cache of Hugging Face only; nothing is
    downloaded.
    """

    question_likelihood: ModelName = "google/flan-t5-small"
    """Model of `context_relevance_perplexity`: a folder, or a name in the cache of Hugging Face; see
    [metrics.md](metrics.md#models)."""
    answer_reward: ModelName = "OpenAssistant/reward-model-deberta-v3-large-v2"
    """Model of `answer_reward`."""
    sentence_encoder: ModelName = "sentence-transformers/all-MiniLM-L6-v2"
    """Model of `semantic_similarity` and of facts in other words (`facts_recall_embedding`)."""
    cross_encoder: ModelName = "cross-encoder/stsb-distilroberta-base"
    """Model of `semantic_similarity_cross`; another one has one output, for how alike two texts are."""
    entailment: ModelName = "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli"
    """Model of `faithfulness_nli`."""
    toxicity: ModelName = "facebook/roberta-hate-speech-dynabench-r4-target"
    """Model of `toxicity`; another one has a label `toxic` or `hate`."""
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:1`; auto is CUDA if there is one."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """`float32` or `bfloat16`, which is faster on hardware that multiplies it faster (the CPU of
    [benchmarks.md](benchmarks.md) does not). The values differ by about 0.001, also with what else is in the batch, so
    the metrics have another version."""
    batch_tokens: Annotated[Tokens | None, Setting(default="2048 on a CPU, 65536 on a GPU")] = None
    """Most tokens in a batch, with padding."""

    def named(self, role: Role) -> str:
        """Return the name or folder of the model of a role."""
        return str(getattr(self, role))

    def version(self, role: Role) -> str:
        """Return what stands in the version of a metric: the model's last name, and the precision if it is reduced.

        A folder counts by its last name too, so that a copy of a model is that model.
        """
        name = PurePath(self.named(role)).name
        return name if self.dtype == "float32" else f"{name}-{self.dtype}"


DEFAULT_MODELS = Models()
