"""The language of a text, and whether question and answer have one."""

import time
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import LanguageMatch, language_of

DETECTED = [
    ("en", "What colour is the sky?"),
    ("en", "The sky is blue."),
    ("en", "How many vacation days do I get?"),
    ("en", "You get 30 days of paid leave."),
    ("en", "Employees may carry over up to five days into the following year."),
    ("de", "Wie viele Urlaubstage habe ich?"),
    ("de", "Sie haben 30 Tage bezahlten Urlaub."),
    ("de", "Die Frist beträgt 30 Tage."),
    ("fr", "Combien de jours de congé ai-je ?"),
    ("fr", "Vous avez 30 jours de congé payé."),
    ("fr", "Le délai est de 30 jours."),
    ("es", "¿Cuántos días de vacaciones tengo?"),
    ("es", "Usted tiene 30 días de vacaciones pagadas."),
    ("it", "Quanti giorni di ferie ho a disposizione?"),
    ("it", "Lei ha diritto a 30 giorni di ferie retribuite."),
    ("it", "Il termine è di 30 giorni."),
    ("pt", "Quantos dias de férias eu tenho?"),
    ("pt", "Você tem direito a 30 dias de férias remuneradas."),
    ("nl", "Hoeveel vakantiedagen heb ik?"),
    ("nl", "U heeft recht op 30 dagen betaald verlof."),
    ("pl", "Ile mam dni urlopu?"),
    ("pl", "Masz prawo do 30 dni płatnego urlopu."),
    ("pl", "Termin wynosi 30 dni od daty zakupu i nie może być przedłużony."),
    ("cs", "Kolik mám dní dovolené?"),
    ("cs", "Lhůta je 30 dní a nelze ji prodloužit."),
    ("sk", "Koľko mám dní dovolenky?"),
    ("sk", "Lehota je 30 dní a nie je možné ju predĺžiť."),
    ("sv", "Hur många semesterdagar har jag?"),
    ("sv", "Du har rätt till 30 dagars betald semester."),
    ("da", "Hvor mange feriedage har jeg, og hvad gælder efter et år?"),
    ("da", "Du har ret til 30 dages betalt ferie efter det første år, og de kan ikke flyttes af dig."),
    ("nb", "Fristen er 30 dager etter kjøpet, og den kan ikke forlenges av noen."),
    ("fi", "Kuinka monta lomapäivää minulla on?"),
    ("fi", "Määräaika on 30 päivää, ja se ei ole pidennettävissä."),
    ("hu", "Hány nap szabadságom van?"),
    ("hu", "A határidő 30 nap, és nem hosszabbítható meg."),
    ("ro", "Câte zile de concediu am?"),
    ("ro", "Termenul este de 30 de zile și nu poate fi prelungit."),
    ("tr", "Süre 30 gündür ve uzatılamaz."),
    ("id", "Berapa hari cuti yang saya punya?"),
    ("id", "Anda berhak atas cuti 30 hari yang dibayar."),
    ("vi", "Tôi có bao nhiêu ngày nghỉ?"),
    ("vi", "Thời hạn là 30 ngày."),
    ("ru", "Сколько у меня дней отпуска?"),
    ("ru", "Срок составляет 30 дней, и его нельзя продлить."),
    ("uk", "Скільки у мене днів відпустки?"),
    ("uk", "Термін становить 30 днів, і його не можна продовжити."),
    ("bg", "Колко дни отпуск имам и как да ги използвам?"),
    ("ar", "كم عدد أيام الإجازة التي لدي؟"),
    ("ar", "المدة هي 30 يومًا من تاريخ الشراء"),
    ("fa", "چند روز مرخصی دارم؟"),
    ("fa", "مهلت 30 روز است و نمی‌توان آن را تمدید کرد."),
    ("hi", "मेरे पास कितनी छुट्टियाँ हैं?"),
    ("hi", "समय सीमा 30 दिन है और इसे बढ़ाया नहीं जा सकता।"),
    ("zh", "我有多少天假期？"),
    ("zh", "您有三十天带薪假期。"),
    ("zh", "请使用 Docker Compose 部署该应用程序。"),
    ("ja", "休暇は何日ありますか？"),
    ("ja", "有給休暇は三十日です。"),
    ("ko", "휴가가 며칠이나 있나요?"),
    ("ko", "유급 휴가는 30일입니다."),
    ("th", "ฉันมีวันหยุดกี่วัน"),
    ("el", "Πόσες ημέρες άδειας έχω;"),
    ("he", "כמה ימי חופשה יש לי?"),
]
NOT_TOLD = [
    "Delhi",
    "Docker Compose",
    "Ndiyo, unaweza kupata siku thelathini za likizo kila mwaka.",
    "- Delhi\n- Mumbai\n- Kolkata",
    "De termijn is 30 dagen.",
    "El plazo es de 30 días.",
    "Hva er fristen for å klage, og hvordan gjør jeg det?",
    "Kaç gün iznim var?",
    "Máte nárok na 30 dní placené dovolené.",
    "O prazo é de 30 dias.",
    "Tidsfristen är 30 dagar.",
    "Колькі ў мяне дзён адпачынку?",
    "Waandishi wa The Guardian na The Times walisema jana kwamba serikali itajenga barabara mpya kutoka mjini hadi "
    "vijijini, ili wakulima waweze kusafirisha mazao yao sokoni kwa urahisi zaidi kuliko zamani kabla mvua kunyesha.",
    "",
]
"""Too short, too like its neighbours, or of a language that is not known: no guess is made."""


def row(question: str | None, answer: str | None) -> tuple[float | None, str | None, dict[str, Any]]:
    frame = pd.DataFrame({"question": pd.Series([question], dtype=object), "answer": pd.Series([answer], dtype=object)})
    scores = LanguageMatch().score(frame)
    value = scores.values.iloc[0]
    return None if value != value else float(value), scores.reasons.iloc[0], dict(scores.details.iloc[0])


@pytest.mark.parametrize(("code", "text"), DETECTED)
def test_a_plain_sentence_has_a_language(code: str, text: str) -> None:
    """A short question or answer is enough where its words are those of one language."""
    assert language_of(text).code == code


def test_a_letter_of_one_neighbour_does_not_make_it_the_other() -> None:
    """Bulgarian has the hard sign too, and far more often than Russian."""
    assert language_of("Срокът е 30 дни и не може да се удължава.").code == "bg"


@pytest.mark.parametrize("text", NOT_TOLD)
def test_an_unknown_language_is_not_guessed(text: str) -> None:
    """A wrong language would be a wrong 0."""
    assert language_of(text).code is None


def test_code_addresses_and_names_do_not_count() -> None:
    """A German answer full of commands is German."""
    code = "```bash\nif the file is not in the list then do it for all of them\n```"
    text = (
        f"Bitte führen Sie das aus:\n{code}\nund sehen Sie in `the file that is there` nach: https://the.is/of/and/to"
    )
    assert language_of(text).code == "de"


QUESTION = "How many vacation days do I get?"


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (QUESTION, "You get 30 days of leave.", (1.0, None, {"question": "en", "answer": "en"})),
        (QUESTION, "Sie haben 30 Tage bezahlten Urlaub.", (0.0, None, {"question": "en", "answer": "de"})),
        (QUESTION, "Отпуск тридцать дней оплачивается.", (0.0, None, {"question": "en", "answer": "Cyrillic"})),
        (QUESTION, "30 days.", (None, "too_short", {})),
        ("Delhi?", "You get 30 days of leave.", (None, "too_short", {})),
        (QUESTION, "Delhi, Mumbai, Kolkata", (None, "unknown_language", {"question": "en", "answer": "Latin"})),
        (QUESTION, " ", (0.0, "no_answer", {})),
        (QUESTION, None, (None, "no_answer", {})),
        (None, "You get 30 days of leave.", (None, "no_question", {})),
        ("休暇は何日ありますか？", "您有三十天带薪假期。", (0.0, None, {"question": "ja", "answer": "zh"})),
        ("我有多少天假期？", "请使用 Docker Compose 部署该应用程序。", (1.0, None, {"question": "zh", "answer": "zh"})),
    ],
)
def test_an_answer_matches_in_the_language_of_its_question(
    question: str | None, answer: str | None, expected: tuple[float | None, str | None, dict[str, Any]]
) -> None:
    """Two scripts never match; an unknown language is null, with that reason."""
    assert row(question, answer) == expected


@pytest.mark.parametrize(
    "piece", ["a.", "a-", "a.b/", "<", "[1,", "](", "@", "a@", "``` ", "` ", "http://", "Бабушка the "]
)
def test_a_giant_answer_is_read_in_no_time(piece: str) -> None:
    """Nothing that a text may be made of is a trap."""
    begun = time.process_time()
    language_of(piece * 250_000)
    assert time.process_time() - begun < 5
