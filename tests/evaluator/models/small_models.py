"""Small models of the true architectures with random weights, saved as transformers saves them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
)

from evaluator.models import Models

Config = TypeVar("Config", bound=PreTrainedConfig)

TEXT = (
    "Alpine passes close in winter because of snow. Which pass is the highest of all? The Col de l'Iseran is the "
    "highest paved pass of the Alps, at 2,764 metres. Generate a question based on the given content: what, when, who, "
    "how much and why. Answers that stand in no context are not faithful, and questions end in a mark."
)


def _tokenizer(start: str, end: str, pair: str | None) -> PreTrainedTokenizerFast:
    bytes_ = Tokenizer(models.BPE(unk_token="<unk>"))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<pad>", "</s>", "<unk>", "<s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bytes_.train_from_iterator([TEXT], trainer)
    bytes_.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}".strip(),
        pair=pair,
        special_tokens=[(name, bytes_.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=bytes_, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", bos_token="<s>"
    )


def save_all(folder: Path) -> Models:
    """A model for each role, in folders under this one."""
    # Small matrices gain nothing from threads, and tests run beside each other.
    torch.set_num_threads(1)
    return Models(
        question_likelihood=str(save_t5(folder / "small-t5")),
        answer_reward=str(save_deberta(folder / "small-reward", ["LABEL_0"])),
        entailment=str(save_deberta(folder / "small-nli", ["contradiction", "entailment", "neutral"])),
        toxicity=str(save_deberta(folder / "small-toxicity", ["nothate", "hate"])),
        cross_encoder=str(save_deberta(folder / "small-cross", ["LABEL_0"])),
        sentence_encoder=str(save_bert(folder / "small-encoder")),
        device="cpu",
        batch_tokens=256,
    )


def save_t5(folder: Path, **changed: object) -> Path:
    """An encoder-decoder like flan-t5: gated GELU, tied or not, relative positions."""
    tokenizer = _tokenizer("", "</s>", None)
    config = T5Config(
        **{
            "vocab_size": len(tokenizer), "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
            "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
            **changed,
        }
    )  # fmt: skip
    torch.manual_seed(7)
    return _save(folder, T5ForConditionalGeneration(config), tokenizer)


def save_deberta(folder: Path, labels: list[str], **changed: object) -> Path:
    """A classifier like the reward model and the models of inference: disentangled attention."""
    tokenizer = _tokenizer("<s>", "</s>", "<s> $A </s> $B:1 </s>:1")
    config = DebertaV2Config(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        share_att_key=True, norm_rel_ebd="layer_norm", type_vocab_size=0, pad_token_id=0,
        id2label=dict(enumerate(labels)), label2id={label: index for index, label in enumerate(labels)}, **changed,
    )  # fmt: skip
    torch.manual_seed(11)
    model = DebertaV2ForSequenceClassification(config)
    # As initialised, all logits are nearly the same number.
    torch.nn.init.normal_(model.classifier.weight, std=2.0)
    return _save(folder, model, tokenizer)


def save_bert(folder: Path, most_positions: int = 64) -> Path:
    """A sentence encoder with absolute positions and nothing that says how to pool."""
    return _save(folder, BertModel(_encoder_config(BertConfig, most_positions)), _tokenizer("<s>", "</s>", None))


def save_roberta(folder: Path, most_positions: int = 64) -> Path:
    """A sentence encoder whose positions begin after the number of the padding token."""
    return _save(folder, RobertaModel(_encoder_config(RobertaConfig, most_positions)), _tokenizer("<s>", "</s>", None))


def _encoder_config(kind: type[Config], most_positions: int) -> Config:
    torch.manual_seed(13)
    return kind(
        vocab_size=len(_tokenizer("<s>", "</s>", None)), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=most_positions, pad_token_id=0,
    )  # fmt: skip


def _save(folder: Path, model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast) -> Path:
    model.save_pretrained(folder)  # type: ignore[operator]
    tokenizer.save_pretrained(folder)
    return folder
