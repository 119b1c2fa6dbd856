"""Classifier of texts and of pairs of texts: logits, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluator.models.batching import batches, portions
from evaluator.models.loading import LoadedModel, load
from evaluator.models.settings import Models, Role

if TYPE_CHECKING:
    import numpy.typing as npt

_WINDOW = 512
"""Tokens of a window: models of inference are trained on pairs that are not longer."""

_STRIDE = 64
"""Tokens that two windows of a long text share, so that a sentence that a window cuts is whole in the next."""


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """A sequence classifier, which reads texts or pairs of texts."""

    loaded: LoadedModel

    @property
    def labels(self) -> Mapping[str, int]:
        """The model's labels in lower case, and their columns."""
        return {str(label).lower(): int(column) for label, column in self.loaded.model.config.label2id.items()}

    @property
    def has_independent_labels(self) -> bool:
        """Whether each label is a question of its own (sigmoid), where others share one probability (softmax)."""
        config = self.loaded.model.config
        return bool(config.num_labels == 1 or config.problem_type == "multi_label_classification")

    def logits(self, pairs: Sequence[tuple[str, str]]) -> tuple[npt.NDArray[np.float32], list[bool]]:
        """Return the logits of each pair, (pairs, labels), and whether a text of it was cut to what the model reads."""
        most = self.loaded.most_tokens
        found, cut = self._none(len(pairs)), [False] * len(pairs)
        for portion in portions([len(first) + len(second) for first, second in pairs]):
            firsts, seconds = _sides([pairs[index] for index in portion])
            rows = self.loaded.tokens(firsts, seconds, truncation="longest_first", max_length=most)
            found[portion] = self._run(rows)
            for index, row in zip(portion, rows, strict=True):
                cut[index] = len(row["input_ids"]) >= most
        return found, cut

    def window_logits(self, pairs: Sequence[tuple[str, str]]) -> tuple[npt.NDArray[np.float32], list[int]]:
        """Return the logits of each pair's windows, (windows, labels), and which pair each is of.

        A pair of more than 512 tokens, or more than the model reads, is read in windows of the first text that overlap,
        each with the second text; of that at most half a window is read.
        """
        return self._window_logits(*_sides(pairs))

    def text_window_logits(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], list[int]]:
        """Return the logits of each text's windows, (windows, labels), and the text of each; as `window_logits`."""
        return self._window_logits(texts, None)

    def _window_logits(
        self, firsts: Sequence[str], seconds: Sequence[str] | None
    ) -> tuple[npt.NDArray[np.float32], list[int]]:
        found, of_text = [self._none(0)], list[int]()
        lengths = [len(first) + (0 if seconds is None else len(seconds[i])) for i, first in enumerate(firsts)]
        for portion in portions(lengths):
            of_portion = None if seconds is None else [seconds[index] for index in portion]
            windows = self._windows([firsts[index] for index in portion], of_portion)
            of_text += [portion[int(window.pop("overflow_to_sample_mapping"))] for window in windows]
            found.append(self._run(windows))
        return np.concatenate(found), of_text

    def _windows(self, firsts: Sequence[str], seconds: Sequence[str] | None) -> list[dict[str, Any]]:
        most = min(_WINDOW, self.loaded.most_tokens)
        return self.loaded.tokens(
            firsts,
            None if seconds is None else self._cut(seconds, most // 2),
            truncation="only_first",
            max_length=most,
            stride=min(_STRIDE, most // 8),
            return_overflowing_tokens=True,
        )

    def _none(self, rows: int) -> npt.NDArray[np.float32]:
        return np.zeros((rows, self.loaded.model.config.num_labels), dtype=np.float32)

    def _cut(self, texts: Sequence[str], most: int) -> list[str]:
        rows = self.loaded.tokens(
            texts, truncation=True, max_length=most, return_offsets_mapping=True, add_special_tokens=False
        )
        ends = [row["offset_mapping"][-1][1] if len(row["input_ids"]) == most else None for row in rows]
        return [text[:end] for text, end in zip(texts, ends, strict=True)]

    def _run(self, rows: Sequence[Mapping[str, Sequence[int]]]) -> npt.NDArray[np.float32]:
        import torch

        found = self._none(len(rows))
        with torch.inference_mode():
            for batch in batches([len(row["input_ids"]) for row in rows], self.loaded.batch_tokens):
                inputs = self.loaded.padded([rows[index] for index in batch])
                found[batch] = self.loaded.model(**inputs).logits.float().cpu().numpy()
        return found


def text_classifier(models: Models, role: Role) -> TextClassifier:
    """Return the model of a role that classifies texts or pairs of texts; raises ModelUnavailableError."""
    return TextClassifier(load(models, role))


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [first for first, _ in pairs], [second for _, second in pairs]
