"""Code inside of an answer in Markdown."""

from __future__ import annotations

import re

# An unclosed fence reaches to the end, as Markdown has it; a span of code stays within its paragraph.
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!\n\s*\n)[^`]){1,2000})\1(?!`)")


def without_code(text: str) -> str:
    """Put a space for each block between fences and each span of code in backticks."""
    return _SPAN.sub(" ", _FENCE.sub(" ", text)) if "`" in text or "~~~" in text else text
