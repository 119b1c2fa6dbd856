"""Refusals: answers that are none, and answers that look like one."""

from importlib.resources import files
from typing import Any

import pandas as pd
import pytest
import yaml

from evaluator.metrics import Refusal

REFUSALS = [
    "My apologies, but I cannot answer that.",
    "Mijn excuses, maar ik kan deze vraag niet beantwoorden.",
    "I don\u00ad't know.",
    "I\u00a0cannot\u2009answer\u200b that question.",
    "Je suis de\u0301sole\u0301, mais je ne peux pas re\u0301pondre.",
    "I cannot find it in my documents.",
    "I cannot answer: the documents do not mention it.",
    "Ich kann in meinen Unterlagen dazu nichts und keine Angaben finden.",
    "There is no information about the data you need to enter.",
    "I don't know.",
    "I'm sorry, but I cannot answer that question.",
    "Unfortunately, the provided documents do not contain information about refunds.",
    "Based on the provided context, I can't find any mention of the CEO.",
    "The context doesn't mention the price.",
    "There is no information about this in the documents.",
    "Hello! I’m afraid that I couldn’t find anything about this. Try HR.",
    "I was unable to find the policy.",
    "As an AI language model, I cannot provide legal advice.",
    "No relevant information was found.",
    "The given documents don't specify it, sorry.",
    "I do not have access to that information.",
    "Es tut mir leid, aber ich kann diese Frage nicht beantworten.",
    "Leider enthalten die Dokumente keine Angaben dazu.",
    "Das weiß ich leider nicht.",
    "Das kann ich leider nicht beantworten.",
    "I'm sorry, I cannot do that.",
    "In den bereitgestellten Dokumenten gibt es keine Informationen dazu.",
    "Der Kontext enthält keine Informationen zu den Kosten.",
    "Je suis désolé, mais je ne peux pas répondre à cette question.",
    "Le contexte fourni ne contient pas d'informations sur ce sujet.",
    "Je ne sais pas.",
    "Lo siento, pero no puedo responder a esa pregunta.",
    "No tengo suficiente información para responder.",
    "El contexto proporcionado no contiene esa información.",
    "Mi dispiace, ma non posso rispondere a questa domanda.",
    "Purtroppo i documenti forniti non contengono queste informazioni.",
    "Desculpe, mas não posso responder a essa pergunta.",
    "Não encontrei informações sobre isso.",
    "Het spijt me, maar ik kan deze vraag niet beantwoorden.",
    "Niestety, nie mogę odpowiedzieć na to pytanie.",
    "Dostarczone dokumenty nie zawierają informacji na ten temat.",
    "На жаль, я не можу відповісти на це питання.",
    "У мене немає інформації про це.",
    "К сожалению, я не могу ответить на этот вопрос.",
    "В предоставленных документах нет информации об этом.",
    "抱歉，我无法回答这个问题。",
    "文档中没有提到退款。",
    "申し訳ありませんが、お答えできません。",
    "提供された文書には情報が含まれていません。",
    "죄송하지만 그 정보는 찾을 수 없습니다.",
]
ANSWERS = [
    "There is no information you need to enter.",
    "There are no details to fill in.",
    "There is no information shared with third parties.",
    "I can't find my order: open the menu and choose Orders.",
    "**I don't have access to my account.** Reset your password.",
    "I don't know which plan to take: open the comparison.",
    "Es gibt keine Angaben, die Sie machen müssen.",
    "Es sind keine Angaben erforderlich.",
    "Ich kann meine Bestellung nicht finden: Öffnen Sie das Menü.",
    "Il n'y a aucune information à saisir.",
    "Je ne peux pas trouver ma commande : ouvrez le menu.",
    "No hay información que deba introducir.",
    "No puedo encontrar mi pedido: abra el menú.",
    "Non ci sono dati da inserire.",
    "Non riesco a trovare il mio ordine: apri il menu.",
    "Não há informações a preencher.",
    "Não consigo encontrar meu pedido: abra o menu.",
    "Er is geen informatie die u moet invullen.",
    "Ik kan mijn bestelling niet vinden: open het menu.",
    "Brak danych do wypełnienia.",
    "Nie mogę znaleźć mojego zamówienia: otwórz menu.",
    "Немає даних, які потрібно ввести.",
    "Не можу знайти моє замовлення: відкрийте меню.",
    "Нет данных, которые нужно вводить.",
    "Не могу найти мой заказ: откройте меню.",
    "没有相关信息需要填写。",
    "我无法找到我的订单：打开菜单。",
    "入力する情報はありません。",
    "입력할 정보가 없습니다.",
    "I do not knowingly share your data.",
    "I cannot find it in the list of 2024, can you tell me the year?",
    "The refund window is 30 days [1].",
    "If the documents do not contain the answer, ask HR.",
    "The contract does not mention a penalty.",
    'Select "I don\'t know" in the form.',
    "You cannot return opened items.",
    "There is no fee for cancelling.",
    "I can help. What is your contract number?",
    "It is not possible to return opened items.",
    "The data does not leave the EU.",
    "The form does not include your salary.",
    "Do you mean that I cannot answer?",
    "Customers who say that they can't find the button should reload.",
    "No information is shared with third parties.",
    "Die Frist beträgt nicht mehr als 30 Tage.",
    "Sie können nicht kündigen.",
    "Ich kann das bestätigen: nicht mehr als 30 Tage.",
    "Vous ne pouvez pas annuler.",
    "No puede cancelar después de 30 días.",
    "No, no es posible.",
    "Nie można anulować.",
    "Вы не можете отменить заказ.",
    "您无法取消订单。",
    "キャンセルはできません。",
    "취소할 수 없습니다.",
    "The answer is not more than 30 days.",
    "I know the answer: Delhi.",
    "We do not have to pay taxes on this data.",
    "There is no data limit on this plan.",
    "The file does not have to be signed.",
    "The answer is in the file.",
]


def row(answer: str | None) -> tuple[float | None, str | None, dict[str, Any]]:
    scores = Refusal().score(pd.DataFrame({"answer": pd.Series([answer], dtype=object)}))
    value = scores.values.iloc[0]
    return None if value != value else float(value), scores.reasons.iloc[0], dict(scores.details.iloc[0])


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_found_in_its_language(answer: str) -> None:
    """ "I cannot answer" and "the documents do not say" are refusals in thirteen languages."""
    assert row(answer)[0] == 1.0


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_with_the_words_of_a_refusal_is_none(answer: str) -> None:
    """Precise rather than broad: conditions, quotes, questions and plain negatives are answers."""
    assert row(answer)[:2] == (0.0, None)


def test_only_the_first_three_sentences_count() -> None:
    """A gap named at the end of a long answer is no refusal of it."""
    answer = "It is 30 days. It begins 1.5 days after the invoice. "
    assert row(answer + "I don't know more.")[0] == 1.0
    assert row(answer + "That is all. I don't know more.")[0] == 0.0


def test_a_question_before_a_refusal_is_one_of_the_three_sentences() -> None:
    """It is no refusal itself, and counts: what comes fourth is too late."""
    assert row("Do you mean the refund? I don't know.")[0] == 1.0
    assert row("Do you mean the refund? It is 30 days. That is all. I don't know more.")[0] == 0.0
    assert row("Do I know? It is 30 days. That is all.")[0] == 0.0


def test_the_details_say_what_was_found() -> None:
    """Whoever doubts the value sees the phrase and its language."""
    assert row("**Sorry, I DON’T know.**") == (1.0, None, {"language": "en", "found": "i do not know"})


def test_silence_is_no_refusal() -> None:
    """An empty answer is counted by its own metric."""
    assert row("") == (0.0, "no_answer", {})
    assert row(None) == (None, "no_answer", {})


def test_no_phrase_of_the_lexicon_is_idle() -> None:
    """Each phrase that needs no other words is found where it is the whole answer, in its own language."""
    content = yaml.safe_load(files("lake.spec.texts").joinpath("refusals.yaml").read_text("utf-8"))
    for language, known in content.items():
        for phrase in known["phrases"]:
            words = [word.split("|")[0] for word in phrase.split() if word != "..." and not word.endswith("?")]
            assert row(" ".join(words))[0] == 1.0, (language, phrase)


def test_a_giant_answer_is_read_in_no_time() -> None:
    """Neither a megabyte without a full stop nor one of openers is a trap."""
    for piece in ("sorry, ", "based on the ", "a", "... ", "I do not have any "):
        assert row(piece * 100_000)[0] == 0.0
