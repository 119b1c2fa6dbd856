"""Numbers of a text by value: 1,000.50 and 1.000,50 are one, 3,5 and 35 are two, -20 is not 20."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files

import yaml

from lake.spec.texts.unicode_forms import UnicodeForm

_HAS_NUMBER = re.compile(r"\d|[\xb2\xb3\xb9\xbc-\xbe\u2070-\u2089\u2150-\u215e\u2460-\u249b]")
_DIGIT, _ASCII_DIGIT = re.compile(r"\d"), re.compile(r"[0-9]")
_PLAIN = re.compile(r"(?<![.,'])\d+(?:[.,]\d+)?(?!\d|[.,'/^]\d|\^|/|\s\d|[eE][-+]?\d|\s?[x*]\s?10)")
_NO_MARKS = str.maketrans("", "", ".,")
_BEFORE_DIGITS = 40
"""Characters in which a sign or currency begins before its number."""
_MOST_DIGITS, _MOST_EXPONENT = 100, 300
_AS_WRITTEN = (1,)
_ARABIC_MARKS = str.maketrans("\u066b\u066c\u066a", ".,%")
_SIGN_WORDS = r"(?:minus|moins|menos|meno|минус|мінус)\s+"
# A hyphen after a letter, a digit or a closing mark joins: 10-20, 2023-05-12, F-16.
_SIGN = rf"(?<![\w)\]%.,°'\"])[-+]|(?<!\d\s)(?<!\w){_SIGN_WORDS}"
_EXPONENT = r"[eE](?P<e>[-+]?\d{1,4})(?![\w.])|\s?[x×*·]\s?10\^(?P<ten>[-+]?\d{1,4})|\^(?P<power>[-+]?\d{1,4})"
_DIGITS = r"\d+(?:[.,']\d+)*"
_SPACED = r"\d{1,3}(?:\s\d{3})+(?!\d)(?:[.,]\d+(?![\d.,]*\d))?"
_BOTH_MARKS = re.compile(r"\d(?<![\d.,]\d)\d{0,2}(?:(?:\.\d{3})+(,)|(?:,\d{3})+(\.))\d+(?![\d.,]*\d)")
_FRACTION = r"(?:(?P<whole>\d{1,4})\s)?(?P<above>\d{1,4})/(?P<below>[1-9]\d{0,3})(?![\d/])"


@dataclass(frozen=True)
class Number:
    """A number of a text: its possible values, what it counts, and its characters, with the sign.

    1.000 may be 1 and 1000. `unit` is `percent`, a currency such as EUR, or a unit of measure; None where none stands
    beside the number.
    """

    values: frozenset[Fraction]
    unit: str | None
    start: int
    end: int

    def agrees_with(self, other: Number) -> bool:
        """Whether the two may be equal: a value of both, and not two units."""
        return not self.values.isdisjoint(other.values) and (
            self.unit is None or other.unit is None or self.unit == other.unit
        )


def numbers_in(text: str) -> list[Number]:
    """Return the numbers of a text in its order, each digit in one of them; of a number in several ways of writing.

    Read are signs (not in a range or date), decimal and thousands marks, percent, currencies before and after, units,
    `3e5` and `3 × 10^5`, fractions, magnitudes (3k, 2 million) and digits of other scripts. Dates, versions and lists
    are their parts.
    """
    if not _HAS_NUMBER.search(text):
        return []
    if text.isascii():
        return list(_numbers(text))
    form = UnicodeForm.of(text)
    found = _numbers(form.text.translate(_ARABIC_MARKS))
    if not form.changed:
        return list(found)
    numbers, done = list[Number](), 0
    for one in found:
        start, end = form.span(one.start, one.end)
        # Two numbers may come from one character, as in 0^½.
        if end > done:
            numbers.append(Number(one.values, one.unit, max(start, done), end))
            done = end
    return numbers


def unit_after(text: str, end: int) -> tuple[str | None, Sequence[int]]:
    """Return the unit that stands after a number that ends there, and the factors of its magnitude, mostly (1,)."""
    return _unit("", text, end)


def missing_numbers(expected: Iterable[Number], said: Sequence[Number]) -> list[Number]:
    """Return the expected numbers with which none of the said ones agrees."""
    return [one for one in expected if not any(one.agrees_with(other) for other in said)]


def numbers_like(wanted: Sequence[Number], text: str) -> list[Number]:
    """Return numbers of an ASCII text, among them all that agree with a wanted one: most others are not read.

    A number and what it is written as begin with the same two digits but for fractions, powers and marks in doubt.
    """
    if not text.isascii():
        return numbers_in(text)
    return list(_numbers(text, {_first_digits(value) for number in wanted for value in number.values}))


def _first_digits(value: Fraction) -> str:
    """Return the first two digits of a number that are not zeros before it: 50 of 0.5, empty where it is too large."""
    try:
        written = f"{abs(float(value)):.15e}"
    except OverflowError:
        return ""
    return written[0] + written[2]


def _numbers(text: str, beginnings: Collection[str] = ("",)) -> Iterator[Number]:
    decimal = _decimal_mark(text)
    for found in _written(text, beginnings):
        unit, factors = _unit(found["currency"] or "", text, found.end())
        is_negative = (found["sign"] or found["second_sign"] or "+").strip() != "+"
        for values, start, end in _readings(found, decimal):
            is_first = start == found.start("number")
            sign = -1 if is_negative and is_first else 1
            if sign < 0 or factors != _AS_WRITTEN:
                values = frozenset(value * factor * sign for value in values for factor in factors)
            yield Number(values, unit, found.start() if is_first else start, end)


def _written(text: str, beginnings: Collection[str] = ("",)) -> Iterator[re.Match[str]]:
    """Yield what the pattern finds, which is looked for near digits alone: a sign and a currency may stand before.

    `beginnings` are the first two digits of what is asked for; all is where an empty one is among them.
    """
    pattern, at, every = _pattern(), 0, "" in beginnings
    find = (_ASCII_DIGIT if text.isascii() else _DIGIT).search
    while digit := find(text, at):
        first = digit.start()
        plain = None if every else _PLAIN.match(text, first)
        if plain and plain[0].translate(_NO_MARKS).lstrip("0")[:2].ljust(2, "0") not in beginnings:
            at = plain.end()
            continue
        is_bare = _is_behind_a_word(text, first, at)
        found = pattern.match(text, first) if is_bare else pattern.search(text, max(at, first - _BEFORE_DIGITS))
        if found is None:
            return
        yield found
        at = found.end()


def _is_behind_a_word(text: str, first: int, since: int) -> bool:
    """Whether a number begins with its first digit: a word and a space stand before it, and no sign or currency."""
    if text[first - 1 : first] != " ":
        return False
    word = text[max(text.rfind(" ", since, first - 1) + 1, since) : first - 1]
    return word.isalpha() and word.isascii() and word.lower() not in _words_before()


@cache
def _words_before() -> Collection[str]:
    signs = re.findall(r"\w+", _SIGN_WORDS.replace(r"\s", ""))
    return frozenset((*signs, *(word.lower() for word in _words("currencies"))))


@cache
def _pattern() -> re.Pattern[str]:
    symbols = "|".join(re.escape(one) for one in sorted(_words("currencies"), key=len, reverse=True) if "*" not in one)
    return re.compile(
        rf"(?P<sign>{_SIGN})?(?:(?<!\w)(?P<currency>{symbols})\s?(?P<second_sign>-)?)?"
        rf"(?P<number>{_FRACTION}|{_SPACED}|{_DIGITS}|(?<![\w.])\.\d+)(?:{_EXPONENT})?",
        re.IGNORECASE,
    )


def _decimal_mark(text: str) -> str | None:
    """Return the decimal mark of a text whose numbers leave no doubt, such as 1.234,56."""
    if "," not in text or "." not in text:
        return None
    found = _BOTH_MARKS.findall(text)
    marks = {mark for both in found for mark in both if mark}
    return marks.pop() if len(marks) == 1 else None


def _readings(found: re.Match[str], decimal: str | None) -> Iterator[tuple[frozenset[Fraction], int, int]]:
    """Yield the values of what was found and its characters; several where it is a date or a list."""
    written, start, end = found["number"], found.start("number"), found.end()
    if found["below"]:
        whole, above, below = (int(found[name] or 0) for name in ("whole", "above", "below"))
        either = () if found["whole"] else (Fraction(above), Fraction(below))
        yield frozenset((whole + Fraction(above, below), *either)), start, end
        return
    spaced = written.split()
    if len(spaced) > 1:
        # Several numbers in a row look the same as one with spaces for thousands.
        values = _values("".join(spaced), decimal) or frozenset()
        parts = () if any(part.startswith("0") for part in spaced) else spaced
        yield values.union(*(_values(part, decimal) or () for part in parts)), start, end
        return
    whole_values = _values(written, decimal)
    if whole_values is not None:
        yield _raised(whole_values, found), start, end
        return
    for part in re.finditer(r"[\d.]+" if "," in written and "." in written else r"\d+", written):
        values_of_part = _values(part[0], decimal)
        if values_of_part is not None:
            yield values_of_part, start + part.start(), start + part.end()
        else:
            for digits in re.finditer(r"\d+", part[0]):
                at = start + part.start()
                yield frozenset({_fraction(digits[0])}), at + digits.start(), at + digits.end()


@lru_cache(maxsize=1 << 12)
def _values(written: str, decimal: str | None) -> frozenset[Fraction] | None:
    """Return the values of digits with marks; None where they are several numbers."""
    groups, marks = re.split(r"[.,']", written), re.findall(r"[.,']", written)
    if not marks:
        return frozenset({_fraction(written)})
    *before, last = marks
    joined = "".join(groups)
    as_decimal = _fraction("".join(groups[:-1]) + "." + groups[-1])
    if not before:
        is_thousands = len(groups[1]) == 3 and 1 <= len(groups[0]) <= 3 and groups[0][0] != "0"
        if last == "'":
            return frozenset({_fraction(joined)}) if is_thousands else None
        if not is_thousands or last == decimal:
            return frozenset({as_decimal})
        return frozenset({_fraction(joined)} if decimal else {_fraction(joined), as_decimal})
    if len(set(marks)) == 1:
        return frozenset({_fraction(joined)}) if _are_thousands(groups) else None
    is_one = len(set(before)) == 1 and last not in (*before, "'") and _are_thousands(groups[:-1])
    return frozenset({as_decimal}) if is_one else None


def _are_thousands(groups: Sequence[str]) -> bool:
    lengths = [len(group) for group in groups]
    is_indian = all(length == 2 for length in lengths[1:-1])
    return 1 <= lengths[0] <= 3 and lengths[-1] == 3 and (is_indian or all(length == 3 for length in lengths[1:]))


def _fraction(digits: str) -> Fraction:
    if len(digits) <= _MOST_DIGITS and digits.isdecimal():
        return Fraction(int(digits))
    return Fraction(digits if len(digits) <= _MOST_DIGITS else digits[:_MOST_DIGITS])


def _raised(values: frozenset[Fraction], found: re.Match[str]) -> frozenset[Fraction]:
    tens = found["e"] or found["ten"]
    if tens and abs(int(tens)) <= _MOST_EXPONENT:
        return frozenset(value * Fraction(10) ** int(tens) for value in values)
    power = found["power"]
    if power and abs(int(power)) <= _MOST_EXPONENT and all(0 < value <= 1000 for value in values):
        return frozenset(value ** int(power) for value in values)
    return values


def _unit(currency: str, text: str, end: int) -> tuple[str | None, Sequence[int]]:
    """Return what stands beside a number: its unit, and the factors of its magnitude."""
    factors: Sequence[int] = _AS_WRITTEN
    unit = _known("currencies", currency)
    word, after = _word_at(text, end)
    known = _known("magnitudes", word)
    # A letter is a magnitude only where it touches the number: 3k, but 300 K.
    if known and (len(word) > 1 or not word.isascii() or after - end == 1):
        factors = [int(factor) for factor in known.split()]
        word, after = _word_at(text, after)
        if word.lower() in ("de", "of", "di"):
            word, after = _word_at(text, after)
    return unit or _known("currencies", word) or _known("units", word), factors


_PER_CENT = re.compile(r" ?(?:per cent|pour cent|por ciento|por cento|per cento)\b")
_WORD = re.compile(r"[ -]?(\$|€|£|¥|₴|₽|₹|₩|%|‰|°[CF]\b|[^\W\d_]+\.?)")


def _word_at(text: str, at: int) -> tuple[str, int]:
    found = _WORD.match(text, at)
    if found is None:
        return "", at
    if per_cent := _PER_CENT.match(text, at):
        return "%", per_cent.end()
    return found[1], found.end()


def _known(kind: str, word: str) -> str | None:
    return _entry(kind, word) if word else None


@cache
def _entry(kind: str, word: str) -> str | None:
    words = _words(kind)
    for given in (word, word.rstrip("."), *([word.lower().rstrip(".")] if len(word) > 2 else [])):
        if given in words:
            return words[given]
    beginnings = [one for one in words if one.endswith("*") and word.lower().startswith(one[:-1])]
    return words[max(beginnings, key=len)] if beginnings else None


@cache
def _words(kind: str) -> Mapping[str, str]:
    content = yaml.safe_load(files(__package__).joinpath("units.yaml").read_text("utf-8"))
    return {word: str(name) for name, words in content[kind].items() for word in words.split()}
