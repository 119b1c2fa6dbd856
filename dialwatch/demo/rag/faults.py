"""Faults that the application can be told to have, so that its quality drops in a known part."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

RetrievalFault = Literal["fewer_chunks", "shuffled_ranks", "other_index"]
GenerationFault = Literal["wrong_sentences"]


class Faults(BaseModel):
    """What is broken, by part; nothing where null.

    Of retrieval, `fewer_chunks` gives the best passage alone. `shuffled_ranks` gives the right ones in any order, so
    that the best is mostly not among the first, from which the answer is made. `other_index` searches an older index,
    which lacks three of four passages. Of generation, `wrong_sentences` retrieves as usual and answers with the
    sentence that fits the question least.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    retrieval: RetrievalFault | None = None
    generation: GenerationFault | None = None
