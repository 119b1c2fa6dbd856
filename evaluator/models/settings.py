"""Settings of the local models: which ones, where they are looked for, and how they run."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

ModelName = Annotated[str, Field(min_length=1)]
Role = Literal["question_likelihood", "answer_reward", "sentence_encoder", "entailment", "toxicity"]


class Models(BaseModel):
    """A model for each role, by a name or a folder, and how all of them run.

    A name such as `google/flan-t5-small` is looked for in the offline cache of Hugging Face only; nothing is
    downloaded. `device` auto is CUDA where there is one. `dtype` bfloat16 is faster on hardware that has it, and gives
    slightly other values, by about 0.001 also with what else is in the batch, so it stands in the metrics' versions.
    A batch holds at most `batch_tokens` tokens, padding
    counted; None stands for 2,048 on a CPU and 65,536 on a GPU.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_likelihood: ModelName = "google/flan-t5-small"
    answer_reward: ModelName = "OpenAssistant/reward-model-deberta-v3-large-v2"
    sentence_encoder: ModelName = "sentence-transformers/all-MiniLM-L6-v2"
    entailment: ModelName = "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli"
    toxicity: ModelName = "facebook/roberta-hate-speech-dynabench-r4-target"
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = "auto"
    dtype: Literal["float32", "bfloat16"] = "float32"
    batch_tokens: Annotated[int, Field(ge=1)] | None = None

    def named(self, role: Role) -> str:
        """Give the name or folder of the model of a role."""
        return str(getattr(self, role))

    def version(self, role: Role) -> str:
        """Give what stands in the version of a metric: the model's last name, and the precision if it is reduced.

        A folder counts by its last name too, so that a copy of a model is that model.
        """
        name = PurePath(self.named(role)).name
        return name if self.dtype == "float32" else f"{name}-{self.dtype}"


DEFAULT_MODELS = Models()
