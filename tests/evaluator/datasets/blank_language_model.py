"""Package `en_core_web_sm` that holds no model: aidial-rag-eval loads one of that name when it is imported.

    python tests/evaluator/datasets/blank_language_model.py

installs it beside the spaCy that runs this: spaCy's English tokenizer and nothing that was learned. The numbers of
retrieval need no more, and nothing is downloaded.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import spacy
from spacy.cli import package


def main() -> None:
    """Write the blank pipeline as a source package, and install it."""
    with tempfile.TemporaryDirectory() as name:
        pipeline, sources = Path(name) / "pipeline", Path(name) / "sources"
        sources.mkdir()
        spacy.blank("en").to_disk(pipeline)
        package(pipeline, sources, name="core_web_sm", version=spacy.__version__, create_sdist=False)
        (source,) = sources.iterdir()
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(source)], check=True)


if __name__ == "__main__":
    main()
