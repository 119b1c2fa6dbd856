"""Questions that are the same but for their spelling."""

from __future__ import annotations

import pytest

from lake.queries.ground_truth.question_keys import normalised_question


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  What\n exactly is it? ", "what exactly is it"),
        ("What - exactly - is it?", "what exactly is it"),
        ("a -- b | c • d / e", "a b c d e"),
        ("a — b", "a b"),
        ("leave,pay;well-known", "leave pay well known"),
        ("«Quoted» ‘Ünï’ (too)", "quoted ünï too"),
        ("¿Qué?", "qué"),
        ("它是什么？", "它是什么"),
        ("Ｆｕｌｌ ﬁne ①", "full fine 1"),
        ("soft\u00adhyphen", "softhyphen"),
        ("?!", ""),
        ("", ""),
    ],
)
def test_case_space_and_marks_of_a_sentence_do_not_matter(text: str, same: str) -> None:
    """Nor does a dash or a bar between words, nor which of several characters for one stands there."""
    assert normalised_question(text) == same


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1,200.5 units!", "1,200.5 units"),
        ("5 - 3", "5 - 3"),
        ("a - 3", "a - 3"),
        ("5 - a", "5 - a"),
        ("5 - x - y", "5 - x y"),
        ("x - y - 5", "x y - 5"),
        ("2020–2021", "2020-2021"),
        ("−5", "-5"),
        ("(5) 5! 5\" 5' 5,", "(5) 5! 5\" 5' 5"),
        ("50 %", "50 %"),
        ("C# or C++", "c# or c++"),
        ("a + b & c", "a + b & c"),
        ("10² H₂O m²", "10^2 h_2o m^2"),
        ("1½", "1 1⁄2"),
        ("Straße STRASSE ẞ", "straße strasse ß"),
    ],
)
def test_what_a_number_or_a_name_is_made_of_matters(text: str, kept: str) -> None:
    """Signs, powers, fractions, marks beside a number, and a mark that stands beside a number."""
    assert normalised_question(text) == kept


def test_capitals_matter_for_names_that_are_common_words_without_them() -> None:
    """Unless the whole question is in capitals, where they say nothing."""
    assert normalised_question("Tell US about IT at the WHO") == "tell US about IT at the WHO"
    assert normalised_question("Tell us about it at the who") == "tell us about it at the who"
    assert normalised_question("TELL US ABOUT IT AT THE WHO") == "tell us about it at the who"
    assert normalised_question("THE FBI") == normalised_question("The FBI") == "the fbi"
