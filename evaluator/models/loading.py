"""Loading of a model and its tokeniser from a folder or the offline cache, each once a process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.models.settings import Models, Role

if TYPE_CHECKING:
    import torch

MOST_TOKENS = 2_048
"""Tokens of a text that a model reads at most: time and memory grow with the square of the length."""

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2_048, 65_536

_CLASSIFIER = "AutoModelForSequenceClassification"
_CLASSES: Mapping[Role, str] = {"question_likelihood": "AutoModelForSeq2SeqLM", "sentence_encoder": "AutoModel"}
"""Classes of transformers by role, where they are no classifiers."""
_POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Kinds of models that count positions from the number of the padding token on, and so have fewer of them."""

_lock = threading.Lock()


class ModelUnavailableError(RuntimeError):
    """A model cannot be loaded; the message says which, where it was looked for and how to provide it."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in evaluation mode on its device, its tokeniser, how many tokens a batch may hold, and its files."""

    model: Any
    tokenizer: Any
    device: torch.device
    batch_tokens: int
    folder: Path

    @property
    def most_tokens(self) -> int:
        """Tokens that the model can read: its own limit where its positions are absolute, `MOST_TOKENS` elsewhere."""
        config = self.model.config
        if getattr(config, "relative_attention", False) or hasattr(config, "relative_attention_num_buckets"):
            return MOST_TOKENS
        own = getattr(config, "max_position_embeddings", None) or MOST_TOKENS
        if config.model_type in _POSITIONS_AFTER_PADDING:
            own -= config.pad_token_id + 1
        return int(min(MOST_TOKENS, own, self.tokenizer.model_max_length))

    def tokens(self, texts: Sequence[str], pairs: Sequence[str] | None = None, **options: Any) -> list[dict[str, Any]]:
        """Return what the tokeniser makes of each text, or pair of texts, by its names: `input_ids` and others.

        Half of a surrogate pair, which no tokeniser takes, is read as a question mark.
        """
        if not texts:
            return []
        encoded = self.tokenizer(_whole(texts), None if pairs is None else _whole(pairs), **options)
        names = list(encoded)
        return [dict(zip(names, row, strict=True)) for row in zip(*(encoded[name] for name in names), strict=True)]

    def padded(self, rows: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, torch.Tensor]:
        """Return what the tokeniser made of some texts as tensors of (texts, tokens of the longest), on the device."""
        import torch

        fill = {"input_ids": self.tokenizer.pad_token_id, "token_type_ids": self.tokenizer.pad_token_type_id}
        longest = max(len(row["input_ids"]) for row in rows)
        return {
            name: torch.tensor(
                [[*row[name], *([fill.get(name) or 0] * (longest - len(row[name])))] for row in rows],
                device=self.device,
            )
            for name in rows[0]
        }


def load(models: Models, role: Role) -> LoadedModel:
    """Return the model of a role, loaded once a process whatever asks for it.

    Raises ModelUnavailableError where it, torch or transformers is not on this machine, or cannot be loaded.
    """
    with _lock:
        return _load(role, str(Path(models.named(role)).expanduser()), models.device, models.dtype, models.batch_tokens)


@cache
def _load(role: Role, name: str, device_name: str, dtype: str, batch_tokens: int | None) -> LoadedModel:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise ModelUnavailableError(
            f"metrics of local models need torch and transformers ({error}): pip install '.[models]' in a checkout of "
            "dialwatch"
        ) from error
    utils: Any = transformers.utils
    utils.logging.disable_progress_bar()
    folder = _folder(name, utils)
    if folder is None:
        raise ModelUnavailableError(_problem(role, name, "is not on this machine"))
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device_name == "auto" else device_name)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True)
        kind = getattr(transformers, _CLASSES.get(role, _CLASSIFIER))
        model, report = kind.from_pretrained(
            name, local_files_only=True, dtype=getattr(torch, dtype), output_loading_info=True
        )
        if report["missing_keys"]:
            raise ValueError(f"its files lack the weights {', '.join(sorted(report['missing_keys'])[:3])}")
        model = model.to(device).eval()
    except Exception as error:  # a folder may lack any file or hold any other
        cause = str(error).strip().partition("\n")[0]
        raise ModelUnavailableError(
            _problem(role, name, f"cannot be loaded: {type(error).__name__}: {cause}")
        ) from error
    default = _GPU_BATCH_TOKENS if device.type == "cuda" else _CPU_BATCH_TOKENS
    return LoadedModel(model, tokenizer, device, batch_tokens or default, folder)


def _whole(texts: Sequence[str]) -> list[str]:
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def _folder(name: str, utils: Any) -> Path | None:
    try:
        config = utils.cached_file(name, "config.json", local_files_only=True)
    except (OSError, ValueError):  # ValueError for what can be no name
        return None
    return None if config is None or not Path(config).is_file() else Path(config).parent


def _problem(role: Role, name: str, problem: str) -> str:
    from huggingface_hub.constants import HF_HUB_CACHE

    key = f"evaluator.models.{role} or DIALWATCH_EVALUATOR__MODELS__{role.upper()}"
    if Path(name).is_absolute():
        return f"model {name!r} for {role} {problem}. Set {key} to a folder that holds a model"
    return (
        f"model {name!r} for {role} {problem}; looked for as the folder {Path(name).absolute()} and in the cache "
        f"{HF_HUB_CACHE}. Set {key} to a folder that holds it, or fetch it once into that cache: hf download {name}"
    )
