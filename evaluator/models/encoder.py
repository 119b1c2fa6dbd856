"""Sentence encoder: a text as a vector, by any encoder in the layout of sentence-transformers."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evaluator.models.batching import batches, portions
from evaluator.models.loading import LoadedModel, ModelUnavailableError, load
from evaluator.models.settings import Models

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

FloatT = TypeVar("FloatT", bound="np.floating[Any]")

_KEPT_TEXTS = 20_000


@dataclass(eq=False)
class SentenceEncoder:
    """Encodes texts as vectors; those of the last 20,000 texts are kept. Not for several threads at once.

    Pooling and longest text are what the model's folder says in `1_Pooling/config.json` and
    `sentence_bert_config.json`; without these it is the mean over all tokens that the model can read.
    """

    loaded: LoadedModel
    pooling: str
    most_tokens: int
    _kept: OrderedDict[bytes, npt.NDArray[np.float32]] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, loaded: LoadedModel) -> SentenceEncoder:
        """Read how the model pools. Raises ModelUnavailableError for a way that is not known here."""
        try:
            most = _json(loaded.folder / "sentence_bert_config.json").get("max_seq_length") or loaded.most_tokens
            return cls(loaded, _pooling(loaded.folder), max(1, min(int(most), loaded.most_tokens)))
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelUnavailableError(
                f"the sentence encoder in {loaded.folder} has settings that cannot be read ({error}); fetch it again"
            ) from error

    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the texts' vectors, (texts, dimensions), not normalised.

        An empty text is read as one space, as in ragas 0.4.3. Of a text longer than `most_tokens` the first are read.
        """
        asked = {_key(text): text or " " for text in texts}
        found = {key: self._kept[key] for key in asked if key in self._kept}
        missing = [key for key in asked if key not in found]
        for portion in portions([len(asked[key]) for key in missing]):
            keys = [missing[index] for index in portion]
            found |= zip(keys, self._encode([asked[key] for key in keys]), strict=True)
        for key in asked:
            self._kept[key] = found[key]
            self._kept.move_to_end(key)
        while len(self._kept) > _KEPT_TEXTS:
            self._kept.popitem(last=False)
        dimensions = int(self.loaded.model.config.hidden_size)
        return np.array([found[_key(text)] for text in texts], dtype=np.float32).reshape(len(texts), dimensions)

    def _encode(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        import torch

        rows = self.loaded.tokens(texts, truncation=True, max_length=self.most_tokens)
        vectors: list[Any] = [None] * len(rows)
        with torch.inference_mode():
            for batch in batches([len(row["input_ids"]) for row in rows], self.loaded.batch_tokens):
                inputs = self.loaded.padded([rows[index] for index in batch])
                pooled = self._pooled(self.loaded.model(**inputs).last_hidden_state.float(), inputs["attention_mask"])
                for index, vector in zip(batch, pooled.cpu().numpy(), strict=True):
                    # A copy, or one vector that is kept would keep the whole batch.
                    vectors[index] = vector.copy()
        return vectors

    def _pooled(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.pooling == "cls":
            return hidden[:, 0]
        weights = mask[:, :, None].float()
        return (hidden * weights).sum(1) / weights.sum(1)


def sentence_encoder(models: Models) -> SentenceEncoder:
    """Return the model of role `sentence_encoder`; raises ModelUnavailableError."""
    return _encoder_of(load(models, "sentence_encoder"))


@cache
def _encoder_of(loaded: LoadedModel) -> SentenceEncoder:
    # One a loaded model, so that what it keeps of texts is shared by all that ask.
    return SentenceEncoder.of(loaded)


def unit_vectors(vectors: npt.NDArray[FloatT]) -> npt.NDArray[FloatT]:
    """Return the rows with length 1, so that their products are cosines; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    found: npt.NDArray[FloatT] = vectors / lengths
    return found


def _key(text: str) -> bytes:
    # Kept texts would be the greater part of the memory.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pooling(folder: Path) -> str:
    modules = [str(module.get("type", "")) for module in _json(folder / "modules.json", [])]
    if unknown := [kind for kind in modules if kind.rpartition(".")[2] not in ("Transformer", "Pooling", "Normalize")]:
        raise ModelUnavailableError(
            f"the sentence encoder in {folder} has a layer {unknown[0]!r} that is not known here; choose one that only "
            "pools and normalises"
        )
    config = _json(folder / "1_Pooling" / "config.json")
    modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    named = str(config.get("pooling_mode", "mean")) if not modes else modes[0].removeprefix("pooling_mode_")
    pooling = {"mean_tokens": "mean", "cls_token": "cls"}.get(named, named)
    if len(modes) > 1 or pooling not in ("mean", "cls"):
        raise ModelUnavailableError(
            f"the sentence encoder in {folder} pools by {' and '.join(modes) or named}; known here are the mean and "
            "the first token"
        )
    return pooling


def _json(path: Path, default: Any = None) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ({} if default is None else default)
