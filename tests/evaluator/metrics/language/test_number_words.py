"""Numbers in words, and what they say of an answer to a case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.form.case_passed import agrees
from evaluator.metrics.language.number_words import number_words_in

DAYS = {
    "en": ("The refund is possible within {} days.", "thirty", "ninety", "30", "90"),
    "de": ("Die Rückgabe ist innerhalb von {} Tagen möglich.", "dreißig", "neunzig", "30", "90"),
    "de compound": ("Die Rückgabe ist innerhalb von {} Tagen möglich.", "dreiunddreißig", "neunundneunzig", "33", "99"),
    "fr": ("Le remboursement est possible dans les {} jours.", "trente", "quatre-vingt-dix", "30", "90"),
    "es": ("El reembolso es posible en un plazo de {} días.", "treinta", "noventa", "30", "90"),
    "it": ("Il rimborso è possibile entro {} giorni.", "trenta", "novantanove", "30", "99"),
    "pt": ("O reembolso é possível no prazo de {} dias.", "trinta", "noventa e nove", "30", "99"),
    "nl": ("De terugbetaling is mogelijk binnen {} dagen.", "dertig", "negenennegentig", "30", "99"),
    "pl": ("Zwrot jest możliwy w ciągu {} dni.", "trzydziestu", "dziewięćdziesięciu", "30", "90"),
    "ru": ("Возврат возможен в течение {} дней.", "тридцати", "девяноста", "30", "90"),
    "uk": ("Повернення можливе протягом {} днів.", "тридцяти", "дев'яноста", "30", "90"),
    "el": ("Η επιστροφή είναι δυνατή εντός {} ημερών.", "τριάντα", "ενενήντα", "30", "90"),
    "tr": ("İade {} gün içinde mümkündür.", "otuz", "doksan", "30", "90"),
    "id": ("Pengembalian dana dapat dilakukan dalam {} hari.", "tiga puluh", "sembilan puluh", "30", "90"),
    "vi": ("Có thể hoàn tiền trong vòng {} ngày.", "ba mươi", "chín mươi", "30", "90"),
    "ar": ("يمكن استرداد المبلغ خلال {} يوما.", "ثلاثين", "تسعين", "30", "90"),
    "he": ("ניתן לקבל החזר תוך {} ימים.", "שלושים", "תשעים", "30", "90"),
    "hi": ("धनवापसी {} दिन के भीतर संभव है।", "तीस", "नब्बे", "30", "90"),
    "mr": ("परतावा {} दिवसांत मिळतो.", "तीस", "नव्वद", "30", "90"),
    "ur": ("رقم کی واپسی {} دن کے اندر ممکن ہے۔", "تیس", "نوے", "30", "90"),
    "fa": ("بازپرداخت ظرف {} روز ممکن است.", "پنجاه", "نود", "50", "90"),
    "bn": ("টাকা ফেরত {} দিনের মধ্যে সম্ভব।", "ত্রিশ", "নব্বই", "30", "90"),
    "ta": ("{} நாட்களுக்குள் பணம் திரும்பப் பெறலாம்.", "முப்பது", "தொண்ணூறு", "30", "90"),
    "te": ("{} రోజుల్లో వాపసు సాధ్యమే.", "ముప్పై", "తొంభై", "30", "90"),
    "hy": ("Վերադարձը հնարավոր է {} օրվա ընթացքում։", "երեսուն", "իննսուն", "30", "90"),
    "ka": ("თანხის დაბრუნება შესაძლებელია {} დღეში.", "ოცდაათი", "ოთხმოცდაათი", "30", "90"),
    "hu": ("A visszatérítés {} napon belül lehetséges.", "harminc", "kilencven", "30", "90"),
    "fi": ("Hyvitys on mahdollinen {} päivän kuluessa.", "kolmenkymmenen", "yhdeksänkymmenen", "30", "90"),
    "da": ("Refusion er mulig inden for {} dage.", "tredive", "halvfems", "30", "90"),
    "nb": ("Refusjon er mulig innen {} dager.", "tretti", "nitti", "30", "90"),
    "sv": ("Återbetalning är möjlig inom {} dagar.", "trettio", "nittio", "30", "90"),
    "ro": ("Rambursarea este posibilă în {} de zile.", "treizeci", "nouăzeci", "30", "90"),
    "cs": ("Vrácení je možné do {} dnů.", "třiceti", "devadesáti", "30", "90"),
    "sk": ("Vrátenie je možné do {} dní.", "tridsiatich", "deväťdesiatich", "30", "90"),
    "bg": ("Връщането е възможно до {} дни.", "тридесет", "деветдесет", "30", "90"),
    "sr": ("Повраћај је могућ у року од {} дана.", "тридесет", "деведесет", "30", "90"),
    "be": ("Вяртанне магчыма на працягу {} дзён.", "трыццаці", "дзевяноста", "30", "90"),
    "lo": ("ສາມາດຄືນເງິນໄດ້ພາຍໃນ{}ວັນ", "ສາມສິບ", "ເກົ້າສິບ", "30", "90"),
    "km": ("អាចសងប្រាក់វិញក្នុងរយៈពេល{}ថ្ងៃ", "សាមសិប", "កៅសិប", "30", "90"),
    "my": ("ငွေပြန်အမ်းခြင်းကို{}ရက်အတွင်းပြုလုပ်နိုင်သည်", "သုံးဆယ်", "ကိုးဆယ်", "30", "90"),
    "th": ("ขอคืนเงินได้ภายใน{}วัน", "สามสิบ", "เก้าสิบ", "30", "90"),
    "ko": ("환불은 {} 일 이내에 가능합니다.", "삼십", "구십", "30", "90"),
    "zh": ("可以在{}天内退款。", "三十", "九十", "30", "90"),
    "zh, one character": ("可以在{}天内退款。", "三", "九", "3", "9"),
    "ja": ("返金は{}日以内に可能です。", "三十", "九十", "30", "90"),
}


@pytest.mark.parametrize(("text", "right", "wrong", "digits", "wrong_digits"), DAYS.values(), ids=DAYS.keys())
def test_another_number_in_words_fails_in_any_script(
    text: str, right: str, wrong: str, digits: str, wrong_digits: str
) -> None:
    """Whichever side writes digits; the same number agrees, also where one side writes it in digits."""
    reference = text.format(right)
    assert agrees(reference, reference)
    assert agrees(text.format(digits), reference)
    assert agrees(reference, text.format(digits))
    for other in (wrong, wrong_digits):
        assert not agrees(text.format(other), reference)
    assert not agrees(text.format(wrong), text.format(digits))


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("One of the plans has a refund within a month.", "A refund is possible within one month in a plan."),
        ("Refunds are possible within a month.", "Refunds are possible within one month."),
        ("Both plans have support by phone and chat.", "The two plans have support by phone and chat."),
        (
            "Support by phone and by chat is in the two plans, the third has none.",
            "Support by phone and chat is there.",
        ),
        (
            "You can pay in ten days for shoes, and thirty for books.",
            "For books thirty, for shoes you can pay in ten days.",
        ),
        ("It is one of the best, and no one else can read it.", "It is among the best, and nobody else can read it."),
        ("Nous avons un plan neuf pour la session de sept.", "Nous avons un nouveau plan pour la session de sept."),
        ("这十分重要，千万不要忘记统一的规定。", "这非常重要，不要忘记统一的规定。"),
        ("Es ist für einen Monat gültig.", "Es ist einen Monat gültig."),
        ("The period is fourteen days.", "The period is two weeks, fourteen days."),
    ],
)
def test_words_that_are_no_other_number_fail_no_case(answer: str, reference: str) -> None:
    """Nothing stands in the place of a number: it is left out, or no number at all."""
    assert agrees(answer, reference)


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("one hundred and five, two hundred thousand, nineteen ninety", "en", [105, 200_000, 19, 90]),
        ("two and three, twenty-five", "en", [2, 3, 25]),
        ("zweihundertfünfzigtausend", "de", [250_000]),
        ("soixante et onze, quatre-vingts, deux mille vingt et un", "fr", [71, 80, 2021]),
        ("due anni, e l'elf", "it", [2]),
        ("the elf is due at once, on a bus", None, []),
        ("二百三十五, 三十万, 一万两千三百", "zh", [235, 300_000, 12_300]),
        ("2 million, 3 hundred, 5万", "en", []),
        ("two dozen, a dozen", "en", [24, 12]),
        ("이번 사회, 만일 수백만, 이백오십 개", "ko", [250]),
        ("one of them, one day, 一個", "en", [1]),
    ],
)
def test_numbers_in_words_have_their_values(text: str, language: str | None, values: list[int]) -> None:
    """What is joined is one number; what is another word in the language, or belongs to digits, is none."""
    assert [min(one.values) for one in number_words_in(text, language)] == values


WORDS = [
    *("two", "and", "twenty", "hundred", "thousand", "und", "fünf", "et", "vingt", "三", "十", "万", "日", "สิบ", "일"),
    *("십", "-", ".", "3"),
]


@given(st.lists(st.sampled_from(WORDS)))
def test_any_row_of_words_has_numbers_at_places_in_order(words: list[str]) -> None:
    """No row of number words fails, and no place is before an earlier one."""
    for text in (" ".join(words), "".join(words)):
        for language in (None, "en", "de", "fr"):
            starts = [one.start for one in number_words_in(text, language)]
            assert starts == sorted(starts)
