"""How likely a model finds a text, given another: teacher forcing with an encoder-decoder model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluator.models.batching import batches
from evaluator.models.loading import MOST_TOKENS, LoadedModel

if TYPE_CHECKING:
    import torch

_KEPT_BYTES = 256 << 20


@dataclass(eq=False)
class TargetLikelihood:
    """Probabilities of target texts given source texts; what a source was encoded to is kept for the next target.

    Encodings are kept up to 256 MiB, the least recently used go first. Not for several threads at once.
    """

    loaded: LoadedModel
    _kept: OrderedDict[tuple[int, ...], torch.Tensor] = field(default_factory=OrderedDict)
    _kept_bytes: int = 0

    def geometric_means(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[bool]]:
        """Give, for each (source, target), exp of the mean log probability of the target's tokens, from 0 to 1.

        The end-of-sequence token counts as a token of the target, padding does not, as in unitxt 1.26.10. Of a text
        only the first `MOST_TOKENS` tokens are read; the second list says where that cut the source.
        """
        import torch

        sources, of_source = _distinct([source for source, _ in pairs])
        targets, of_target = _distinct([target for _, target in pairs])
        source_ids, target_ids = self._tokens(sources), self._tokens(targets)
        asked: list[list[int]] = [[] for _ in sources]
        for pair, source in enumerate(of_source):
            asked[source].append(pair)
        found = [0.0] * len(pairs)
        with torch.inference_mode():
            for batch in batches([len(ids) for ids in source_ids], self.loaded.batch_tokens):
                states = self._encoded([source_ids[source] for source in batch])
                wanted = [(place, pair) for place, source in enumerate(batch) for pair in asked[source]]
                lengths = [states[place].shape[0] + len(target_ids[of_target[pair]]) for place, pair in wanted]
                for part in batches(lengths, self.loaded.batch_tokens):
                    chosen = [wanted[index] for index in part]
                    means = self._decoded(
                        [states[place] for place, _ in chosen], [target_ids[of_target[pair]] for _, pair in chosen]
                    )
                    for (_, pair), mean in zip(chosen, means, strict=True):
                        found[pair] = mean
        return found, [len(source_ids[source]) == MOST_TOKENS for source in of_source]

    def _tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        rows = self.loaded.tokens(texts, truncation=True, max_length=MOST_TOKENS)
        return [tuple(row["input_ids"]) for row in rows]

    def _encoded(self, sources: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        missing = [ids for ids in sources if ids not in self._kept]
        states = {ids: self._kept[ids] for ids in sources if ids in self._kept}
        if missing:
            inputs = self.loaded.padded([{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in missing])
            hidden = self.loaded.model.get_encoder()(**inputs).last_hidden_state
            # A copy, or one short text would keep the whole batch alive.
            states |= {ids: hidden[row, : len(ids)].clone() for row, ids in enumerate(missing)}
        for ids in sources:
            self._keep(ids, states[ids])
        return [states[ids] for ids in sources]

    def _keep(self, ids: tuple[int, ...], states: torch.Tensor) -> None:
        if ids not in self._kept:
            self._kept_bytes += states.nbytes
        self._kept[ids] = states
        self._kept.move_to_end(ids)
        while self._kept_bytes > _KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.nbytes

    def _decoded(self, states: Sequence[torch.Tensor], targets: Sequence[tuple[int, ...]]) -> list[float]:
        import torch
        from torch.nn.utils.rnn import pad_sequence
        from transformers.modeling_outputs import BaseModelOutput

        device = self.loaded.device
        hidden = pad_sequence(list(states), batch_first=True)
        reach = torch.tensor([len(state) for state in states], device=device)
        mask = torch.arange(hidden.shape[1], device=device)[None, :] < reach[:, None]
        rows = self.loaded.padded([{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in targets])
        labels, counts = rows["input_ids"], rows["attention_mask"]
        model: Any = self.loaded.model
        logits = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
            attention_mask=mask.long(),
            decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels),
            use_cache=False,
        ).logits.float()
        logs = logits.gather(2, labels[:, :, None]).squeeze(2) - logits.logsumexp(2)
        means = (logs * counts).sum(1) / counts.sum(1)
        exponentials: list[float] = means.exp().tolist()
        return exponentials


def _distinct(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Give each text once, and for each of the given ones its place among those."""
    places: dict[str, int] = {}
    indexes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), indexes
