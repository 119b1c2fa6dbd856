"""Citation validity: does each `[n]` of the answer point to something?"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.prose import without_code
from evaluator.metrics.scores import Score
from lake.spec.texts.unicode_forms import in_one_form
from lake.spec.vocabulary import UnscoredReason

# A citation has three digits at most: [2023] is a year. A link says itself where it leads, a set of characters in a
# regular expression is repeated, and an element of an array gets a value or has a method.
_NUMBER = r"[0-9]{1,3}"
_CITATION = re.compile(
    rf"(?<!\\)\[\s*(?P<numbers>{_NUMBER}(?:\s*[,;-]\s*{_NUMBER})*)\s*\](?!\(|\.\w+\(|\s*=[^=]|[+{{\\]|[*?]?\$)"
)
_NEAR = 40
"""Characters before a bracket that say what it is."""
_ENDS_OF_NAMES = frozenset(string.ascii_letters + string.digits + "_).")
_CODE_NAMES = """
    a args argv arr array bool buf buffer bytes byte cells char chars cols column columns coords data df dict double
    elements elem float grid idx index int items keys lines list long lst map matrix mat nums numbers obj objects
    params points queue records result results row rows seq short split stack str string strings tab table tokens tuple
    val value values vals vec vector words
"""
_IS_NAME = re.compile(
    # A name of code: a letter, one of two words or with a digit, a member, or one of those that programs have.
    r"(?:(?<!\w)[A-Za-z]|\w*_\w*|[a-z]+[A-Z]\w*|[A-Za-z]\w*[0-9]|[A-Za-z]\w*\.[a-z]\w*|\$[\w.]+"
    rf"|(?<!\w)(?i:{'|'.join(_CODE_NAMES.split())})|\w\([^()\s]*\)|(?<!\w)\.)$"
)
_IS_NO_CITATION = re.compile(
    r"(?:\\[A-Za-z]+\*?|=\s*|\w\(|[\^/\\]"
    r"|(?:\b(?:intervall?|interval[lo]s?|intervalles?|ranges?|bereich|plage|rango|gamme|faixa|przedział\w*|zakres\w*"
    r"|интервал\w*|диапазон\w*|інтервал\w*|діапазон\w*|list|array|vector|tuple|matrix|liste|lista|return)"
    r"|[∈∉⊂])(?:\s+(?:is|are|of|from|ist|von|est|es|de|di))?\s*:?\s*)$",
    re.IGNORECASE,
)
_MATHS = re.compile(
    r"\$\$.{1,2000}?\$\$|\\\(.{1,2000}?\\\)|\\\[(?!\d).{1,2000}?\\\]|\$(?!\s)[^$\n]{0,200}[\\^_=][^$\n]{0,200}(?<!\s)\$",
    re.DOTALL,
)
_DEFINITION = re.compile(rf"^[ \t]*\[{_NUMBER}\]:", re.MULTILINE)
_PART = re.compile(rf"({_NUMBER})(?:\s*-\s*({_NUMBER}))?")


def citations(answer: str) -> list[int]:
    """Return the numbers that an answer cites, in its order and with repeats."""
    text = _DEFINITION.sub("", _MATHS.sub(" ", without_code(in_one_form(answer))))
    cited: list[int] = []
    end_of_code = -1
    for found in _CITATION.finditer(text):
        numbers = list(_numbers(found["numbers"]))
        before = text[max(0, found.start() - _NEAR) : found.start()]
        touched = before[-1:]
        if found.start() == end_of_code or (touched and touched in _ENDS_OF_NAMES and _IS_NAME.search(before)):
            end_of_code = found.end()
        elif not (0 in numbers and (len(numbers) > 1 or touched.isalnum())) and not _is_no_citation(before):
            cited += numbers
    return cited


def _is_no_citation(before: str) -> bool:
    # Most follow a citation, a space after a word, or a mark, which no pattern has to be looked for.
    if before.endswith("]"):
        return not before[-2:-1].isdecimal() and before[-2:] != " ]"
    return bool(before) and _IS_NO_CITATION.search(before) is not None


def _numbers(cited: str) -> Iterator[int]:
    for first, last in _PART.findall(cited):
        if last and int(first) < int(last):
            yield from range(int(first), int(last) + 1)
        else:
            yield from (int(number) for number in (first, last) if number)


@metric(
    Description(
        asks="Does each `[n]` in the answer point to a context that exists?",
        formula="citations with 1 <= n <= number of contexts / citations; `[1, 3]` is two, `[2-4]` three; code, "
        "formulas, elements of arrays, intervals, the text of links and numbers of more than three digits are none",
        source="dialwatch",
        odd_cases=OddCases(
            empty_answer="null with `no_citations`, `no_answer` for a missing cell",
            no_contexts="0.0 with `no_contexts` for an empty list, null with it for a missing cell",
            duplicate_contexts="each has its number",
        ),
    ),
    needs=("answer", "contexts"),
    version="2",
)
def citation_validity(answer: str | None, contexts: Sequence[str] | None) -> Score:
    """Share of the answer's citations `[n]` with 1 <= n <= number of contexts, from 0 to 1, higher is better.

    `[1, 3]` and `[1][3]` are two citations, `[2-4]` is three. None are code, formulas, links such as `[1](address)`,
    definitions such as `[1]: address`, numbers of more than three digits, elements such as `arr[5]` and `rows_of[1]`,
    intervals and lists such as `[0, 100]` and `= [1, 2]`, and parts of regular expressions such as `[1-9]+`. An answer
    without a citation is null with `no_citations`. Where nothing was retrieved (an empty list) no citation is valid,
    with the remark `no_contexts`; where that is not known (a missing cell) it is null with `no_contexts`.

    The details name the numbers that point to nothing: `{"invalid": [7]}`.
    """
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not (cited := citations(answer)):
        return Score(None, UnscoredReason.NO_CITATIONS)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    invalid = [number for number in cited if not 1 <= number <= len(contexts)]
    details = {"invalid": sorted(set(invalid))} if invalid else {}
    return Score(1 - len(invalid) / len(cited), None if contexts else UnscoredReason.NO_CONTEXTS, details)
