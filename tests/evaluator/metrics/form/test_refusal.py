"""Refusals: answers that are none, and answers that look like one."""

from importlib.resources import files
from typing import Any

import pandas as pd
import pytest
import yaml

from evaluator.metrics import Refusal
from lake.spec.texts.refusals import only_refuses

REFUSALS = [
    "Leider habe ich keine Informationen zu Preisen und Gebühren.",
    "Je n'ai pas d'informations sur les prix et les frais.",
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
    "Leider habe ich keine Daten verloren.",
    "Je n'ai pas d'informations à saisir.",
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
    "We have no data centers in Europe.",
    "We have no access restrictions.",
    "I did not find any errors in the report.",
    "I did not find any serious problems.",
    "I can not find anything wrong with the code.",
    "Je n'ai pas trouvé mieux que le Ritz.",
    "Je n'ai pas trouvé d'erreurs dans le rapport.",
]


ONLY_REFUSE = [
    "I don't have information about prices and fees.",
    "I don't know, sorry.",
    "Unfortunately, the provided documents do not contain information about the warranty and the return policy.",
    "I cannot answer this question, as the context does not mention it.",
    "The documents do not mention the price, and I cannot find it elsewhere.",
    "I do not know and the documents do not say.",
    "I cannot help with that as an AI language model.",
    "There is no information on this, unfortunately.",
    "Ich weiß es leider nicht, und die Dokumente enthalten keine Angaben dazu.",
    "Der Kontext enthält keine Angaben zu Ort und Zeit.",
    "Tut mir leid, das weiß ich nicht.",
    "Je ne sais pas, désolé.",
    "Les documents fournis ne mentionnent pas le prix et je ne peux pas répondre.",
    "No tengo información sobre precios y tarifas.",
    "No lo sé, lo siento.",
    "El documento no menciona el precio y no puedo responder.",
    "Non ho informazioni su prezzi e tariffe.",
    "Não tenho informações sobre preços e taxas.",
    "Ik heb geen informatie over prijzen en kosten.",
    "Nie mam informacji o cenach i opłatach.",
    "У мене немає інформації про ціни та тарифи.",
    "У меня нет информации о ценах и тарифах.",
    "抱歉，我无法回答这个问题，文档中没有提到。",
    "很抱歉，根据提供的文档，没有相关信息。",
    "申し訳ございませんが、その情報は見つかりませんでした。",
    "죄송하지만 가격과 수수료에 대한 정보가 없습니다.",
    "I have no information on opening hours or holidays.",
    "I'm unable to find that in the provided sources and documents.",
    "The provided context does not contain any details about pricing or availability.",
    "I can't help with that, unfortunately.",
    "We do not have any information about the CEO and the board.",
    "Je suis désolé, mais je ne peux pas répondre et les documents ne mentionnent pas ce sujet.",
    "Lo siento, no puedo ayudar con precios y plazos.",
    "К сожалению, в предоставленных документах нет информации о цене и сроках.",
    "提供された文書には、その情報が含まれていません。",
    "关于2024年的价格，文档中没有提到。",
    "제공된 문서에서는 해당 정보를 찾을 수 없습니다.",
    "The documents do not mention the price or the opening hours of the museum.",
    "Die bereitgestellten Dokumente enthalten keine Informationen zu den Preisen und den Öffnungszeiten des Museums.",
    "Les documents fournis ne mentionnent pas les prix ou les horaires d'ouverture du musée.",
    "The context does not provide information about X and therefore I cannot answer.",
    "I do not have that information, so I cannot answer.",
    "I do not know and therefore I cannot answer.",
    "根据文档内容，没有相关信息。",
    "根据提供的文档和资料，没有相关信息。",
    "その件についてはまだ情報がありません。",
    "情報がないので、お答えできません。",
    "对不起，我无法回答您的问题，因为文档中没有提到。",
    "문서만 보고는 알 수 없습니다.",
    "I'm sorry. I don't know.",
    "I don't know. Sorry!",
    "Es tut mir leid. Das weiß ich nicht.",
    "Je suis désolé. Je ne sais pas.",
    "Lo siento. No lo sé.",
    "Mi dispiace. Non lo so.",
    "Sinto muito. Não sei.",
    "Het spijt me. Dat weet ik niet.",
    "Przykro mi. Nie wiem.",
    "Мені шкода. Я не знаю.",
    "К сожалению. Я не знаю.",
    "抱歉。我不知道。",
    "申し訳ありません。わかりません。",
    "죄송합니다. 모르겠습니다.",
    "Я не знаю, но в предоставленных документах нет информации об этом.",
]
REFUSE_AND_SAY = [
    "I don't have the price of X and the fee is 40.",
    "The context does not mention the fee and membership gives free entry.",
    "I cannot help with that as an AI language model, but entry is free.",
    "I don't have the exact date and the office closes at noon.",
    "I don't know the price and it costs 40 euros.",
    "I don't have that information and the service listens on port 9000.",
    "I cannot find the price but the fee is 40.",
    "I cannot find the price; the fee is 40.",
    "I cannot find the price, the fee is 40.",
    "I don't know the price, though it is about 40 euros.",
    "I don't have the price, only the fee of 40 euros.",
    "I have no information other than that the fee is 40 euros.",
    "I don't know the name while the founder was a film director.",
    "The documents do not mention the price and shipping takes three days.",
    "I do not know and entry is free.",
    "I don't have the manual and you can reset it with the red button.",
    "I cannot answer that since the contract ended in 2019.",
    "I don't have the price – it was raised in May.",
    "I don't have the price of X and, as of May, Y is sold out.",
    "Ich habe keine Informationen zum Preis und die Gebühr beträgt 40 Euro.",
    "Ich weiß es nicht und der Eintritt ist frei.",
    "Ich kann den Preis nicht finden, aber die Gebühr beträgt 40 Euro.",
    "Der Kontext enthält keine Angaben zum Preis, die Gebühr beträgt 40 Euro.",
    "Je n'ai pas d'informations sur le prix et les frais sont de 40 euros.",
    "Je ne sais pas et l'entrée est gratuite.",
    "No tengo información sobre el precio y la tarifa es de 40 euros.",
    "No lo sé y la entrada es gratuita.",
    "Non ho informazioni sul prezzo e la tariffa è di 40 euro.",
    "Não tenho informações sobre o preço e a taxa é de 40 euros.",
    "Ik heb geen informatie over de prijs en de toegang is gratis.",
    "Nie mam informacji o cenie i wstęp jest bezpłatny.",
    "У мене немає інформації про ціну і вхід безкоштовний.",
    "У меня нет информации о цене и вход стоит 40 евро.",
    "我不知道价格，费用是40欧元。",
    "费用是40欧元，但文档中没有提到价格。",
    "手数料は40ユーロですが、価格の情報は見つかりませんでした。",
    "수수료는 40유로이지만 가격은 찾을 수 없습니다.",
    "가격은 찾을 수 없습니다만 수수료는 40유로입니다.",
    "I don't know the founder and the company belongs to Siemens.",
    "I cannot answer that and please restart the server with --force.",
    "The context does not mention fees and returns are free within 30 days.",
    "We do not have any details, the price went up in May.",
    "I do not know, so the default of 5 minutes applies.",
    "Ich weiß das nicht und der Laden schließt um acht.",
    "Das kann ich nicht beantworten, der Preis stieg im Mai.",
    "Je ne sais pas, l'entrée coûte dix euros.",
    "No lo sé, pero cuesta diez euros.",
    "Не знаю, но вход бесплатный.",
    "我不知道费用，但是退货免费。",
    "返品は無料ですが、料金は記載されていません。",
    "반품은 무료이며 가격은 찾을 수 없습니다.",
    "我不知道开放时间，根据官网门票价格为40欧元。",
    "我不知道，根据官网门票是免费的。",
    "门票免费，文档中没有提到折扣。",
    "根据官网门票免费，文档中没有提到折扣。",
    "根据文档，门票免费，没有相关信息。",
    "入場料は500円ですが開館時間については情報がありません。",
    "入場は無料ですから、情報がありません。",
    "입장료는 5000원이지만 운영 시간에 대해서는 정보가 없습니다.",
    "입장은 무료입니다만 운영 시간에 대해서는 정보가 없습니다.",
    "Я не знаю и вход бесплатный.",
    "Я не знаю но вход свободный.",
    "Не знаю і вхід вільний.",
    "I don't know the price and children pay less.",
    "I do not know, so ask reception.",
    "I do not know so ask reception.",
    "Je ne sais pas et Paris gagne.",
    "Je ne sais pas donc demandez.",
    "Nie wiem i wstęp wolny.",
    "Ich weiß es nicht und Kinder zahlen weniger.",
    "The documents do not mention the price and the company belongs to Siemens.",
    "I'm sorry. It is 40 euros.",
    "I'm sorry. I'm sorry.",
    "信息不足，" * 400,
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


@pytest.mark.parametrize("answer", ONLY_REFUSE)
def test_an_answer_whose_clauses_all_refuse_says_nothing(answer: str) -> None:
    """Reasons that refuse, polite words, and what the missing information is about are no statements."""
    assert only_refuses(answer)


@pytest.mark.parametrize("answer", REFUSE_AND_SAY, ids=lambda answer: answer[:80])
def test_a_clause_beside_a_refusal_says_something(answer: str) -> None:
    """Before or behind it, with or without a comma."""
    assert not only_refuses(answer)


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
        for phrase in (*known.get("whole", ()), *known["phrases"]):
            words = [word.split("|")[0] for word in phrase.split() if word != "..." and not word.endswith("?")]
            assert row(" ".join(words))[0] == 1.0, (language, phrase)


def test_a_giant_answer_is_read_in_no_time() -> None:
    """Neither a megabyte without a full stop nor one of openers is a trap."""
    for piece in ("sorry, ", "based on the ", "a", "... ", "I do not have any "):
        assert row(piece * 100_000)[0] == 0.0
    for piece in ("には", "i do not know and ", "prices and ", "根据", "不过 "):
        assert not only_refuses("I do not know, " + piece * 100 + "4")
