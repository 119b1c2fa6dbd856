"""Text of a scrape for tests that are about other labels than the installation."""

import re

_LABEL = r'installation="[^"]*"'


def without_installation(text: str) -> str:
    """The text without the label that each sample has."""
    return re.sub(rf"\{{{_LABEL}\}}|{_LABEL},|,{_LABEL}", "", text)
