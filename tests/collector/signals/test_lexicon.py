"""Rejections at the beginning of a message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.signals import Lexicon, LexiconError, SignalSettings

LEXICON = Lexicon.shipped()

REJECTIONS = {
    "en": [
        "That's wrong, the limit is 30 days.",
        "no, that's not correct. It was raised in 2024",
        "Wrong!",
        "Sorry, but that isn’t what I asked for.",
        "Hmm... you misunderstood me. I need the German policy.",
        "No I meant the contract of 2023",
        "You didn't answer my question: what is the limit?",
        "You made that up.",
        "NOT WHAT I ASKED",
        "that doesn't help.",
        "No no no, you are wrong about the deadline",
    ],
    "de": [
        "Das stimmt nicht, die Frist beträgt 30 Tage.",
        "Nein, das ist leider falsch.",
        "Falsch. Es sind zwei Wochen.",
        "Das war nicht meine Frage. Ich wollte wissen, wer das genehmigt.",
        "Nein, ich meinte den Vertrag von 2023",
    ],
    "fr": [
        "Non, c’est faux. Le délai est de 30 jours.",
        "Ce n'est pas ce que j'ai demandé",
        "Vous n'avez pas répondu à ma question.",
        "ca ne repond pas a ma question",
    ],
    "es": ["No, eso no es correcto.", "Te equivocas, son treinta días", "No es lo que pregunté", "Falso."],
    "it": ["No, non è vero. Sono trenta giorni.", "Non hai risposto alla mia domanda", "Ti sbagli"],
    "pt": ["Não, isso está errado.", "Não foi isso que eu perguntei", "Você não entendeu a pergunta"],
    "pl": ["Nie, to nieprawda.", "Mylisz się, termin to 30 dni", "Nie o to pytałem"],
    "uk": ["Ні, це неправильно.", "Ви помиляєтесь, термін 30 днів", "Я не про це питала"],
    "ru": ["Нет, это не так.", "Вы ошибаетесь: срок 30 дней", "Ты не ответил на мой вопрос"],
    "zh": ["不对，应该是三十天。", "你错了，期限是三十天", "这不对。", "你没有回答我的问题"],
    "ja": ["いいえ、それは違います。三十日です。", "質問に答えていません"],
}

OTHER_MESSAGES = [
    "no problem, thanks",
    "No, thank you.",
    "no worries",
    "What is wrong with my printer?",
    "Is that wrong?",
    "That's wrong, isn't it?",
    "wrong turn signs in Germany",
    "Wrong answers in the exam: how many points do they cost?",
    "Not bad! And for Austria?",
    "Das stimmt nicht überein mit der Rechnung.",
    "Das stimmt so nicht überein, was tun.",
    "Das ist falsch eingestellt, ich möchte es ändern.",
    "Das ist nicht richtig angeschlossen.",
    "C'est faux cils ou mascara",
    "Eso está mal configurado en mi equipo.",
    "To jest błędne hasło według systemu.",
    "Це неправильно налаштовано в мене.",
    "Это неправильно настроено у меня.",
    "这是错误的日志，请分析。",
    "答案不对称的矩阵",
    "それは間違って送ったメールです。",
    "That is not right-aligned in my table, how do I change it?",
    "It is wrong to steal, says Kant. Explain.",
    'Translate "that is wrong" into French',
    '"You are wrong" is what my manager wrote. How do I reply?',
    "My colleague says that is wrong. Who is right?",
    "I meant to thank you",
    "Try again with a shorter text",
    "Thanks, that helps",
    "ok",
    "no",
    "Nein danke",
    "Was stimmt nicht mit meinem Drucker?",
    "Falsche Freunde im Englischen: nenne zehn",
    "Das ist nicht schlecht",
    "Pas mal, merci",
    "Les faux amis en anglais",
    "No hay problema",
    "Non importa, grazie",
    "Não faz mal, obrigado",
    "Nie ma sprawy",
    "Ні, дякую",
    "Нет проблем, спасибо",
    "Что не так с принтером?",
    "不对称加密是什么？",
    "这不对称的图形怎么画",
    "没问题，谢谢",
    "違いますか？",
    "",
    "   ",
    "?",
]


@pytest.mark.parametrize(("language", "message"), [(name, text) for name, some in REJECTIONS.items() for text in some])
def test_a_message_that_begins_with_a_rejection_is_one(language: str, message: str) -> None:
    """In every language of the shipped lexicon, whatever its case, accents and opening words."""
    found = LEXICON.find_rejection(message)
    assert found is not None
    assert found.language == language
    assert 0.5 <= found.confidence <= 0.9


@pytest.mark.parametrize("message", OTHER_MESSAGES)
def test_thanks_questions_and_quotations_are_no_rejection(message: str) -> None:
    """The lexicon is precise rather than broad."""
    assert LEXICON.find_rejection(message) is None


@pytest.mark.parametrize(
    "message",
    ["C\u2019est\u00a0une\u202ferreur.", "Eso no es ver\u00addad", "\ufeffWrong an\u200bswer.", "E\u0300 errato."],
)
def test_the_unicode_form_of_a_rejection_makes_no_difference(message: str) -> None:
    """Combining accents, no-break spaces and invisible characters are what keyboards and copies bring."""
    assert LEXICON.find_rejection(message) is not None


def test_a_missing_message_is_no_rejection() -> None:
    """A secured key hides the question."""
    assert LEXICON.find_rejection(None) is None


@given(st.text(max_size=400))
def test_any_text_is_read(message: str) -> None:
    """No text makes the lexicon fail."""
    LEXICON.find_rejection(message)


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_own_phrases_add_and_take_away(suffix: str, tmp_path: Path) -> None:
    """A file may bring a new language, change a confidence, and silence a shipped phrase with 0."""
    path = tmp_path / f"phrases.{suffix}"
    path.write_text(json.dumps({"nl": {"dat klopt niet": 0.7}, "en": {"you made that up": 0, "wrong.": 0.3}}))
    own = Lexicon.with_file(path)
    dutch, english = own.find_rejection("Nee, dat klopt niet."), own.find_rejection("Wrong.")
    assert dutch is None
    dutch = own.find_rejection("Dat klopt niet.")
    assert dutch is not None
    assert (dutch.phrase, dutch.language, dutch.confidence) == ("dat klopt niet", "nl", 0.7)
    assert english is not None
    assert english.confidence == 0.3
    assert own.find_rejection("You made that up.") is None
    assert own.find_rejection("Das stimmt nicht.") is not None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[wrong]", "must hold"),
        ("en: {wrong: 2}", "en.wrong"),
        ("en: {wrong: often}", "en.wrong"),
        ("en: {'.': 0.5}", "empty"),
        ("en: {", "neither YAML nor JSON"),
        (None, "cannot read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(content: str | None, says: str, tmp_path: Path) -> None:
    """The settings say at the start what is wrong with the file."""
    path = tmp_path / "phrases.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(LexiconError, match=says):
        Lexicon.with_file(path)
    with pytest.raises(ValueError, match=says):
        SignalSettings(lexicon=path)
