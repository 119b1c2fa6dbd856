"""Pairs a second of the metrics of local models, against a plain loop over the pairs.

    python -m benchmarks.evaluator.models [pairs]

The model has flan-t5-small's architecture and random weights, and a tokeniser of as many words, for no weights come
with this project: time does not depend on the weights. The effect of reduced precision on a score does, and is shown
with a real sentence encoder, all-MiniLM-L6-v2, on the wrong and right answers that the demo ships. Contexts have 150 to
450 tokens, questions 10 to 30. Every round times each way on the same pairs, so that what else the machine does
hits all of them; the ratios are of medians. On a machine with a GPU everything runs there, and the reward model
(DeBERTa-v3-large's architecture) too.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.utils.flop_counter import FlopCounterMode

from evaluator.metrics import SemanticSimilarity
from evaluator.models import Models, TargetLikelihood, TextClassifier, target_likelihood, text_classifier
from tests.evaluator.models.real_encoder import real_encoder

ANSWERS = Path(__file__).parents[2] / "dialwatch" / "demo" / "data" / "halueval_qa.jsonl"
_WORDS = 32_000
_ROUNDS = 3
_QUESTIONS_PER_CONTEXT = 8

Pair = tuple[str, str]


def tokenizer(pair: str | None = None) -> transformers.PreTrainedTokenizerFast:
    """A tokeniser whose tokens are the words w0, w1, ..., with an end mark."""
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2} | {f"w{number}": number + 3 for number in range(_WORDS)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", pair=pair, special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def save_flan_t5_small(folder: Path) -> None:
    """google/flan-t5-small's architecture."""
    config = transformers.T5Config(
        vocab_size=32_128, d_model=512, d_kv=64, d_ff=1024, num_layers=8, num_decoder_layers=8, num_heads=6,
        feed_forward_proj="gated-gelu", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def save_deberta_large(folder: Path) -> None:
    """OpenAssistant/reward-model-deberta-v3-large-v2's architecture."""
    config = transformers.DebertaV2Config(
        vocab_size=128_100, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
        relative_attention=True, position_buckets=256, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        share_att_key=True, norm_rel_ebd="layer_norm", type_vocab_size=0, pad_token_id=0, num_labels=1,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    tokenizer("$A </s> $B </s>").save_pretrained(folder)


def text(numbers: random.Random, fewest: int, most: int) -> str:
    """Words of the tokeniser."""
    return " ".join(f"w{numbers.randrange(_WORDS)}" for _ in range(numbers.randint(fewest, most)))


def distinct_pairs(count: int) -> list[Pair]:
    """Each context with one question."""
    numbers = random.Random(1)
    return [(text(numbers, 150, 450), text(numbers, 9, 29)) for _ in range(count)]


def recurring_pairs(count: int) -> list[Pair]:
    """Each context with eight questions, in no order."""
    numbers = random.Random(2)
    contexts = [text(numbers, 150, 450) for _ in range(max(1, count // _QUESTIONS_PER_CONTEXT))]
    pairs = [(context, text(numbers, 9, 29)) for context in contexts for _ in range(_QUESTIONS_PER_CONTEXT)]
    numbers.shuffle(pairs)
    return pairs


def plain_loop(model: Any, made: Any, pairs: Sequence[Pair]) -> list[float]:
    """One pair after the other, as one would write it down."""
    values = []
    with torch.inference_mode():
        for source, target in pairs:
            inputs = made(source, return_tensors="pt").to(model.device)
            labels = made(target, return_tensors="pt").input_ids.to(model.device)
            values.append(float(torch.exp(-model(**inputs, labels=labels).loss)))
    return values


def careless_batches(model: Any, made: Any, pairs: Sequence[Pair], size: int = 32) -> list[float]:
    """Batches of 32 pairs as they come, padded to the longest."""
    values: list[float] = []
    with torch.inference_mode():
        for start in range(0, len(pairs), size):
            sources, targets = zip(*pairs[start : start + size], strict=True)
            inputs = made(list(sources), padding=True, return_tensors="pt").to(model.device)
            labels = made(list(targets), padding=True, return_tensors="pt").to(model.device)
            ids = labels.input_ids.masked_fill(labels.attention_mask == 0, -100)
            logits = model(**inputs, labels=ids).logits
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
            values += torch.exp(-losses.sum(1) / labels.attention_mask.sum(1)).tolist()
    return values


def ours(chosen: Models) -> Callable[[Sequence[Pair]], list[float]]:
    """Our way, with nothing kept from the round before."""
    loaded = target_likelihood(chosen).loaded
    return lambda pairs: TargetLikelihood(loaded).geometric_means(pairs)[0]


def compare(title: str, ways: dict[str, Callable[[Sequence[Pair]], list[float]]], pairs: Sequence[Pair]) -> None:
    """Time each way on the same pairs, several rounds of all ways."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    values: dict[str, list[float]] = {}
    for way in ways.values():
        way(pairs[:2])
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            values[name] = way(pairs)
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(of) for name, of in times.items()}
    first = next(iter(ways))
    exact = np.array(values[first])
    print(f"{title}: {len(pairs)} pairs")
    for name, seconds in medians.items():
        off = float(np.max(np.abs(np.array(values[name]) / exact - 1)))
        print(
            f"  {name:34} {len(pairs) / seconds:8.2f} pairs/s  {medians[first] / seconds:5.2f} x {first}"
            f"  values off by at most {off:.1e}"
        )


def limit(model: Any, made: Any, pairs: Sequence[Pair]) -> float:
    """Pairs a second if all multiplications of the loop ran as fast as one large matrix product in float32 does."""
    with FlopCounterMode(display=False) as counter:
        plain_loop(model, made, pairs[:8])
    left, right = (torch.randn(shape, device=model.device) for shape in ((2_048, 512), (512, 1_024)))
    rates = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(100):
            product = left @ right
        float(product.sum())
        rates.append(100 * 2 * 2_048 * 512 * 1_024 / (time.perf_counter() - start))
    return statistics.median(rates) / (counter.get_total_flops() / 8)


def perplexity(folder: Path, pairs: int) -> None:
    """The perplexity metric in float32 and bfloat16 against the loop and careless batches."""
    save_flan_t5_small(folder)
    exact = Models(question_likelihood=str(folder))
    reduced = exact.model_copy(update={"dtype": "bfloat16"})
    loaded = target_likelihood(exact).loaded
    model, made = loaded.model, loaded.tokenizer
    ways = {
        "plain loop": lambda some: plain_loop(model, made, some),
        "batches as they come": lambda some: careless_batches(model, made, some),
        "ours, float32": ours(exact),
        "ours, bfloat16": ours(reduced),
    }
    print(f"{loaded.device}, {torch.get_num_threads()} threads")
    once = distinct_pairs(pairs)
    print(f"limit of one pair after the other in float32: {limit(model, made, once):.2f} pairs/s")
    compare("every context once", ways, once)
    compare(f"every context {_QUESTIONS_PER_CONTEXT} times", ways, recurring_pairs(pairs))


def reward(folder: Path, pairs: int) -> None:
    """The reward model, ours against one pair after the other."""
    save_deberta_large(folder)
    exact = Models(answer_reward=str(folder))
    one = TextClassifier(text_classifier(exact.model_copy(update={"batch_tokens": 1}), "answer_reward").loaded)

    def run(chosen: TextClassifier) -> Callable[[Sequence[Pair]], list[float]]:
        return lambda some: np.exp(chosen.logits(some)[0][:, 0]).tolist()

    reduced = exact.model_copy(update={"dtype": "bfloat16"})
    ways = {
        "one pair after the other": run(one),
        "ours, float32": run(text_classifier(exact, "answer_reward")),
        "ours, bfloat16": run(text_classifier(reduced, "answer_reward")),
    }
    compare("reward model", ways, distinct_pairs(pairs))


def precision() -> None:
    """How far reduced precision moves semantic similarity, with real weights on real answers."""
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    pairs = {"answer": [row["hallucinated_answer"] for row in rows]}
    frame = pd.DataFrame(pairs | {"reference_answers": [[row["right_answer"]] for row in rows]})
    exact = Models(sentence_encoder=real_encoder(), device="cpu")
    values = {
        dtype: SemanticSimilarity(models=exact.model_copy(update={"dtype": dtype})).score(frame).values
        for dtype in ("float32", "bfloat16")
    }
    print(f"semantic similarity of {len(rows)} answers, mean {values['float32'].mean():.4f} in float32")
    off = (values["bfloat16"] - values["float32"]).abs()
    print(
        f"  bfloat16: mean {values['bfloat16'].mean():.4f}, off by {off.mean():.4f} on average, {off.max():.4f} at most"
    )


def main() -> None:
    """Measure what this machine can."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    precision()
    with tempfile.TemporaryDirectory() as folder:
        perplexity(Path(folder, "flan-t5-small"), pairs)
        if torch.cuda.is_available():
            print(torch.cuda.get_device_name())
            reward(Path(folder, "reward"), pairs)


if __name__ == "__main__":
    main()
