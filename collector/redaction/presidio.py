"""Microsoft Presidio as a finder of names, places and the like."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from collector.redaction.settings import PresidioSettings

if TYPE_CHECKING:
    from collector.redaction.scrubber import Entities

_CHARACTERS_AT_ONCE = 100_000
_OVERLAP = 1_000
"""spaCy refuses texts over a million characters and takes about a gigabyte for 100,000 of them."""


def entities_of(settings: PresidioSettings) -> Entities:
    """Make the finder; raises ValueError where Presidio, the model or an entity is missing. Downloads nothing."""
    if find_spec("presidio_analyzer") is None:
        raise ValueError(
            "collector.redaction.presidio needs Presidio: pip install '.[redaction]' in a checkout of dialwatch"
        )
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    if not (spacy.util.is_package(settings.model) or Path(settings.model).is_dir()):
        raise ValueError(
            f"the spaCy pipeline {settings.model!r} is neither installed nor a folder: install it, for example with "
            f"`python -m spacy download {settings.model}`"
        )
    engine = SpacyNlpEngine(models=[{"lang_code": settings.language, "model_name": settings.model}])
    engine.load()
    registry = RecognizerRegistry(supported_languages=[settings.language])
    registry.load_predefined_recognizers(languages=[settings.language], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry, engine, supported_languages=[settings.language])
    unknown = sorted(set(settings.entities).difference(analyzer.get_supported_entities(settings.language)))
    if unknown:
        known = ", ".join(sorted(analyzer.get_supported_entities(settings.language)))
        raise ValueError(f"Presidio knows no entity {', '.join(unknown)} for {settings.language!r}; it has {known}")

    def find(text: str) -> list[tuple[int, int, str]]:
        return [
            (begin + result.start, begin + result.end, result.entity_type)
            for begin, part in _parts(text)
            for result in analyzer.analyze(
                part, language=settings.language, entities=settings.entities, score_threshold=settings.threshold
            )
        ]

    return find


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Cut a long text; parts overlap, so that what stands on a cut is whole in one of them."""
    for begin in range(0, max(1, len(text) - _OVERLAP), _CHARACTERS_AT_ONCE - _OVERLAP):
        yield begin, text[begin : begin + _CHARACTERS_AT_ONCE]
