"""Likelihood of a text, given another, by an encoder-decoder model: teacher forcing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from evaluator.models.batching import batches, portions
from evaluator.models.loading import MOST_TOKENS, LoadedModel, load
from evaluator.models.settings import Models

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
        """Return, for each (source, target), exp of the mean log probability of the target's tokens, from 0 to 1.

        The end-of-sequence token counts as a token of the target, padding does not, as in unitxt 1.26.10. Of a text
        only the first `MOST_TOKENS` tokens are read; the second list says where that cut the source.
        """
        import torch

        sources, of_source = _distinct([source for source, _ in pairs])
        asked: list[list[int]] = [[] for _ in sources]
        for pair, source in enumerate(of_source):
            asked[source].append(pair)
        found, cut = [0.0] * len(pairs), [False] * len(pairs)
        with torch.inference_mode():
            for portion in portions([len(source) for source in sources]):
                ids = self._tokens([sources[index] for index in portion])
                for batch in batches([len(one) for one in ids], self.loaded.batch_tokens):
                    states = self._encoded([ids[place] for place in batch])
                    wanted = [
                        (state, pair)
                        for place, state in zip(batch, states, strict=True)
                        for pair in asked[portion[place]]
                    ]
                    means = self._means(wanted, [pairs[pair][1] for _, pair in wanted])
                    for (state, pair), mean in zip(wanted, means, strict=True):
                        found[pair], cut[pair] = mean, len(state) == MOST_TOKENS
        return found, cut

    def _means(self, wanted: Sequence[tuple[torch.Tensor, int]], targets: Sequence[str]) -> list[float]:
        distinct, of_target = _distinct(targets)
        ids = self._tokens(distinct)
        lengths = [len(state) + len(ids[target]) for (state, _), target in zip(wanted, of_target, strict=True)]
        found = [0.0] * len(wanted)
        for part in batches(lengths, self.loaded.batch_tokens):
            means = self._decoded([wanted[index][0] for index in part], [ids[of_target[index]] for index in part])
            for index, mean in zip(part, means, strict=True):
                found[index] = mean
        return found

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


def target_likelihood(models: Models) -> TargetLikelihood:
    """Return the model of role `question_likelihood`; raises ModelUnavailableError."""
    return _likelihood_of(load(models, "question_likelihood"))


# One a loaded model, so that what it keeps of texts is shared by all that ask.
_likelihood_of = cache(TargetLikelihood)


def _distinct(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return each text once, and for each of the given ones its place among those."""
    places: dict[str, int] = {}
    indexes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), indexes
