"""The words of a text that a search compares: all but function words, which every text has."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORD_LIST = """
    a an the this that these those it its he his him she her they their them we our us you your i my me there here
    is are was were be been being am do does did has have had can could will would shall should may might must
    and or but nor not no if so as than then of in on at to for from by with into about after before between through
    what which who whom whose when where why how s t also both one
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())


def words(text: str) -> list[str]:
    """Return the words in order, in lower case and without function words; a plural becomes its singular."""
    found = (word for word in _WORD.findall(text.lower()) if word not in _FUNCTION_WORDS)
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]
