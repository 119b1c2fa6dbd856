"""Prose of a text in Markdown: the text without its code, addresses, citations and file names."""

from __future__ import annotations

import re

# An unclosed fence reaches to the end, as Markdown has it; a span of code stays within its paragraph.
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!\n\s*\n)[^`]){1,2000})\1(?!`)")

# Addresses, citations, tags and file names. Each begins where a word does, or has an end, so that it is looked for in
# time with the length of the text.
_NO_PROSE = re.compile(
    r"https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,200}@\S+|\[\d[\d,\s-]{0,40}\]|<[^<>\n]{1,200}>"
    r"|(?<![\w/.-])[\w/.-]{1,200}\.\w{2,4}\b(?!\.)"
)


def without_code(text: str) -> str:
    """Put a space for each block between fences and each span of code in backticks."""
    return _SPAN.sub(" ", _FENCE.sub(" ", text)) if "`" in text or "~~~" in text else text


def prose(text: str) -> str:
    """Put a space for code, and for each address, citation, tag and file name."""
    return _NO_PROSE.sub(" ", without_code(text))
