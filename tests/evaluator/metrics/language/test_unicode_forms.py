"""Texts in one Unicode form: what is the same sentence, where its characters stood, and what must stay apart."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.texts.unicode_forms import UnicodeForm, in_one_form

ODD = st.text(
    st.one_of(
        st.sampled_from(
            "aé1²½①５—–-’“\u00ad\u200b\u200d\u0301\u0308\ufe0fﬁｶﾞ가ᄀ\u1161\u11a8ㄱㅏ \u00a0\u2009"
            "\n™´¨\u1ffdक\u093fن\u0640"
        ),
        st.characters(),
    ),
    max_size=30,
)
SENTENCE = 'Das Café öffnet um 12 Uhr: "find it" - it\'s 5-10 EUR in Zürich.'


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(unicodedata.normalize("NFD", SENTENCE), id="combining marks"),
        pytest.param(SENTENCE.replace("fi", "\ufb01"), id="ligature"),
        pytest.param(SENTENCE.replace("Zürich", "Zü\u00adrich"), id="soft hyphen"),
        pytest.param(SENTENCE.replace("Zürich", "Zü\u00ad\nrich"), id="soft hyphen at a line's end"),
        pytest.param(SENTENCE.replace("find", "f\u200bi\u200dn\u2060d"), id="zero width"),
        pytest.param("\ufeff" + SENTENCE, id="byte order mark"),
        pytest.param(SENTENCE.replace("12", "\uff11\uff12"), id="full-width digits"),
        pytest.param("".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in SENTENCE), id="full width"),
        pytest.param(SENTENCE.replace("5-10", "5\u201310"), id="en dash"),
        pytest.param(SENTENCE.replace("5-10", "5\u201410"), id="em dash between digits"),
        pytest.param(SENTENCE.replace(" - ", "\u2014"), id="em dash between words"),
        pytest.param(SENTENCE.replace("5-10", "5\u201110"), id="no-break hyphen"),
        pytest.param(SENTENCE.replace('"find it"', "\u201efind it\u201c"), id="German quotation marks"),
        pytest.param(SENTENCE.replace('"find it"', "\u00abfind it\u00bb"), id="guillemets"),
        pytest.param(SENTENCE.replace("it's", "it\u2019s"), id="apostrophe"),
        pytest.param(SENTENCE.replace("it's", "it\u00b4s"), id="accent as an apostrophe"),
        pytest.param(SENTENCE.replace(" ", "\u00a0"), id="no-break spaces"),
        pytest.param(SENTENCE.replace(" ", "\u2009"), id="thin spaces"),
        pytest.param(SENTENCE.replace(" ", "\u202f"), id="narrow no-break spaces"),
        pytest.param(SENTENCE.replace(" ", "\u3000"), id="wide spaces"),
    ],
)
def test_the_same_sentence_has_one_form_however_it_is_written(written: str) -> None:
    """Each is what a PDF parser, a keyboard or a model makes of the sentence."""
    assert in_one_form(written) == SENTENCE != written


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("10²", "10^2"),
        ("10⁻³", "10^-3"),
        ("10²³", "10^23"),
        ("m²", "m2"),
        ("H₂O", "H2O"),
        ("2½", "2 1/2"),
        ("½", "1/2"),
        ("Acme™", "Acme™"),
        ("\ufee5", "\u0646"),
        ("ｶﾞ", "ガ"),
        ("¨", "¨"),
    ],
)
def test_numbers_and_words_do_not_run_into_what_is_raised(written: str, form: str) -> None:
    """NFKC alone makes 102 of ten squared and 21/2 of two and a half."""
    assert in_one_form(written) == form


@given(ODD)
@example("1²\u00ad\u0301")
def test_the_form_of_a_form_is_itself(text: str) -> None:
    """To bring a text to its form twice changes nothing."""
    assert in_one_form(in_one_form(text)) == in_one_form(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_its_own_form(text: str) -> None:
    """Most texts are not changed, and not copied."""
    assert in_one_form(text) is text


@given(ODD)
def test_canonically_equal_texts_have_one_form(text: str) -> None:
    """NFC and NFD are two ways to write the same letters."""
    form = in_one_form(text)
    assert form == in_one_form(unicodedata.normalize("NFC", text))
    assert form == in_one_form(unicodedata.normalize("NFD", text))


@given(ODD, st.data())
def test_a_span_of_the_form_lies_in_the_original_and_has_its_text(text: str, data: st.DataObject) -> None:
    """A mark on the page covers what was found: whole letters with their marks, never less."""
    form = UnicodeForm.of(text)
    start = data.draw(st.integers(0, len(form.text)))
    end = data.draw(st.integers(start, len(form.text)))
    first, last = form.span(start, end)
    assert 0 <= first <= last <= len(text)
    assert form.text[start:end] in in_one_form(text[first:last])
    if form.span(start, start)[0] == first and (end == len(form.text) or form.span(end, end + 1)[0] >= last):
        before = UnicodeForm.of(text[:first]).text
        assert before + in_one_form(text[first:last]) + in_one_form(text[last:]) == form.text
