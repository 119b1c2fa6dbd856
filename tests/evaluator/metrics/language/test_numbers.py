"""Numbers by value: each as people write it, read back from several locales, and what is no sign or no number."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics.language.numbers import missing_numbers, numbers_in, numbers_like

_PIECES = [
    "minus ", "-", "$", "5", "20", "1", "000", ",", ".", "%", " million", " USD", " kg", " the fee is", " a", " x 10^5",
    "e5", " ", "\n", "(", ")", "/", "'", " 3 ", ": ", "k", "EUR ", ".5", "0", "10", "12", "^2",
]  # fmt: skip

LOCALES = {
    "en": (",", "."),
    "de": (".", ","),
    "fr": ("\u202f", ","),
    "pl": ("\u00a0", ","),
    "sv": (" ", ","),
    "ch": ("'", "."),
    "ch, typographic": ("\u2019", "."),
    "none": ("", "."),
    "none, comma": ("", ","),
    "ar": ("\u066c", "\u066b"),
}
AMOUNTS = st.decimals(-(10**12), 10**12, places=2) | st.integers(-(10**12), 10**12).map(Decimal)
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def written(value: Decimal, thousands: str, decimal: str) -> str:
    return f"{value:,}".replace(",", "T").replace(".", decimal).replace("T", thousands)


@given(AMOUNTS, st.sampled_from(sorted(LOCALES)), st.sampled_from(["-", "\u2212"]))
@example(Decimal("-1234.56"), "ar", "-")
def test_a_number_of_any_locale_is_read_back(value: Decimal, locale: str, minus: str) -> None:
    """Its value is one of those that it may have, the only one where it has decimals and thousands."""
    text = written(value, *LOCALES[locale]).replace("-", minus)
    if locale == "ar":
        text = text.translate(ARABIC)
    found = numbers_in(f"it is {text} now")
    assert [one for one in found if Fraction(value) in one.values] == found
    assert len(found) == 1
    assert f"it is {text} now"[found[0].start : found[0].end] == text
    if value != int(value) and abs(value) >= 1_000_000 and not any(map(str.isspace, text)):
        assert found[0].values == {Fraction(value)}


@given(AMOUNTS, AMOUNTS, st.sampled_from(sorted(LOCALES)), st.sampled_from(sorted(LOCALES)))
def test_two_numbers_agree_where_they_are_equal_whatever_their_locales(
    one: Decimal, two: Decimal, locale: str, other: str
) -> None:
    """Those that are not equal agree only where a way of writing leaves it open: 1.000, or `5 100`."""
    ours, theirs = numbers_in(written(one, *LOCALES[locale])), numbers_in(written(two, *LOCALES[other]))
    assert not missing_numbers(ours, numbers_in(written(one, *LOCALES[other])))
    if one != two and all(len(number.values) == 1 for number in (*ours, *theirs)):
        assert missing_numbers(ours, theirs)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3,5", ["3.5"]),
        ("0,125", ["0.125"]),
        ("1.000", ["1", "1000"]),
        ("1.234,56 and 1.000", ["1234.56", "1000"]),
        ("1234.567", ["1234.567"]),
        ("12,34,567", ["1234567"]),
        ("1 000 000", ["1000000"]),
        (".5", ["0.5"]),
        ("from -20 to +85", ["-20", "85"]),
        ("10-20", ["10", "20"]),
        ("10\u201320", ["10", "20"]),
        ("-20\u2013-10", ["-20", "-10"]),
        ("2023-05-12", ["2023", "5", "12"]),
        ("12.05.2023", ["12", "5", "2023"]),
        ("F-16 and COVID-19", ["16", "19"]),
        ("minus 5", ["-5"]),
        ("5 minus 3", ["5", "3"]),
        ("-$5 or $-5", ["-5", "-5"]),
        ("3e5", ["300000"]),
        ("1.5E-3", ["0.0015"]),
        ("3 × 10⁵", ["300000"]),
        ("10²", ["100"]),
        ("½ and 2½ and 2 1/2", ["0.5", "2.5", "2.5"]),
        ("3k", ["3000"]),
        ("2 million, 2 Mio., 2M, 2 миллиона", ["2000000"] * 4),
        ("3万", ["30000"]),
        ("300 K", ["300"]),
        ("1,2,3", ["1", "2", "3"]),
        ("\uff11\uff12", ["12"]),
        ("१२", ["12"]),
    ],
)
def test_a_number_has_the_value_that_its_reader_sees(text: str, values: list[str]) -> None:
    """Each value is one that the number may have; 1.000 may have two."""
    found = numbers_in(text)
    if text == "1.000":
        assert found[0].values == {Fraction(1), Fraction(1000)}
    elif text.startswith(("½", "2 1/2")):
        assert all(Fraction(value) in one.values for one, value in zip(found, values, strict=True))
    else:
        assert [one.values for one in found] == [{Fraction(value)} for value in values]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 %", "percent"),
        ("5 per cent", "percent"),
        ("5 Prozent", "percent"),
        ("5 процентов", "percent"),
        ("$5", "USD"),
        ("5 €", "EUR"),
        ("USD 5", "USD"),
        ("2 Mio. Euro", "EUR"),
        ("2 millions d'euros", None),
        ("5 kg", "kg"),
        ("5kg", "kg"),
        ("5 °C", "°C"),
        ("30-day", "day"),
        ("30 Tage", "day"),
        ("5 apples", None),
    ],
)
def test_a_number_keeps_its_unit(text: str, unit: str | None) -> None:
    """Currencies stand before or after; numbers with two units never agree, one without a unit agrees with each."""
    found = numbers_in(text)
    assert [one.unit for one in found] == [unit]
    assert not missing_numbers(found, numbers_in(f"{text} or 5 or 2000000 or 30"))
    assert bool(missing_numbers(found, numbers_in("5 GHz or 30 GHz or 2000000 GHz"))) == (unit is not None)


@given(st.text(st.sampled_from("0123456789.,'-+/ e^×$€%km\u00a0½²١ a"), max_size=40) | st.text(max_size=40))
def test_any_text_has_numbers_in_order_at_places_of_its_own(text: str) -> None:
    """Nothing raises, and each number is a stretch of the text that has a digit."""
    done = 0
    for one in numbers_in(text):
        assert done <= one.start < one.end <= len(text)
        assert any(map(str.isnumeric, text[one.start : one.end]))
        done = one.end
        assert one.values


@given(*(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=14).map("".join) for _ in range(2)))
def test_numbers_that_are_not_read_agree_with_no_wanted_one(text: str, wanted_text: str) -> None:
    """A text is searched for some numbers in less time than it takes to read all of its own."""
    wanted = numbers_in(wanted_text)
    assert missing_numbers(wanted, numbers_like(wanted, text)) == missing_numbers(wanted, numbers_in(text))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("see 1.2.34,567.8", ["1", "2", "34", "567.8"]),
        ("x 1,23.4,5", ["1", "23.4", "5"]),
        ("v 1,2.3.4", ["1", "2", "3", "4"]),
        ("v 1.2.3,4 or 5", ["1", "2", "3", "4", "5"]),
    ],
)
def test_digits_with_marks_that_are_no_number_are_several_at_their_places(text: str, places: list[str]) -> None:
    assert [text[one.start : one.end] for one in numbers_in(text)] == places
