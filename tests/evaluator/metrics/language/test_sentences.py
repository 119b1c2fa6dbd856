"""Sentences of chunks and answers in several languages, and what else a chunk has: headings, items, rows, code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.ground_truth.citations import numbered_sentences
from evaluator.ground_truth.facts import supporting_sentences
from evaluator.metrics import sentences

TEXTS = st.text(alphabet=st.sampled_from("aBzéт1.!?: \n\"')(-|#`=;。」と"), max_size=60)


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith works in the U.S. since 2010.|He is well known.",
        "See No. 5 and Fig. 3 on p. 12.|It is there.",
        "J. K. Rowling wrote it, e.g. in 1997, i.e. long ago.|She lives in the U.K.|It sold well.",
        "The fee is 3.5 percent.|Version 2.0.1 is out.",
        "Founded by Apple Inc. in 1976.|The company grew.",
        "He left at 5 p.m. on Monday.|She stayed.",
        "The station lies at lat. 90.5 N and long. 12.3 E.|It is cold.",
        "Translated (Trad. by J. Miller, 2nd ed.) in 1990.|It is a classic.",
        "Children must stay in zone A.|Children under six are free.",
        "Use approx. 5 mg/kg, max. 20 mg, vs. 10 mg before.|Then wait.",
        "Smith et al. (2019) say so.|Others do not.",
        'Is it open?|Yes!|He said "Stop."|Then he left.',
        "Take vitamin C.|It helps.",
        "The deadline is Jan. 15.|No one may be late.",
        "St. Mary's Hospital is on Main St. in town.|Visit us at www.example.com today.",
        "Sec. 4.2 of Art. 5 applies, cf. ch. 3.|It is binding.",
        "He met Prof. Dr. A. Weber and Mrs. B. Jones.|They talked.",
        "It costs $5.|Tax is extra.",
        "The U.S. Army and the E.U. agreed in Sept. 2020.|Nothing changed.",
        "Dosage: 0.5 ml per kg, i.e. 35 ml for 70 kg.|Do not exceed it.",
        "Mt. Everest is 8,848 m. high.|It is in Nepal.",
        "George W. Bush and John F. Kennedy Jr. were there.|They spoke.",
        "He works for Smith & Co. and for Jones Ltd.|The firm is old.",
        "See eq. (3) and refs. 4 and 5.|They differ.",
        "What is J. R. R. Tolkien known for?|The Hobbit.",
        "It ends at 9 a.m.|The doors close then.",
        "Contact Gov. Brown or Sen. Miller at ext. 12.|They help.",
        "The temperature was -5 °C.|It was cold.",
        "The answer is 42.|Why?|Nobody knows.",
        "Dept. of Health, Washington, D.C., says so.|Fine.",
        "We chose plan B.|It worked.",
        "Refunds are in section 5.|Returns are in section 6.",
        "He paid approx. $500 vs. the usual $300.|It was too much.",
        "She earned a Ph.D. in 2001 and an M.A. before.|She teaches.",
        "Das gilt z. B. für Kinder, d. h. für alle unter 12.|Erwachsene zahlen mehr.",
        "Das gilt z.B. für Kinder, d.h. für alle.|Danach ist Schluss.",
        "Die Frist endet am 3. Mai 2024.|Danach wird gemahnt.",
        "Im 19. Jahrhundert lebte Friedrich II. in Berlin.|Er starb dort.",
        "Dr. Müller und Prof. Dr. Schmidt kommen ca. um 8 Uhr.|Sie bleiben bis 17 Uhr.",
        "Siehe Nr. 5, Abs. 2 und S. 12 ff. des Gesetzes.|Es gilt ab sofort.",
        "Hunde, Katzen usw. sind erlaubt.|Vögel nicht.",
        "Der Preis beträgt 3,50 Euro inkl. MwSt. und zzgl. Versand.|Die Zahlung erfolgt bar.",
        "Gem. § 5 Abs. 1 Nr. 2 BGB gilt bzw. endet die Frist.|Das ist klar.",
        "Die Str. ist gesperrt, u. a. wegen Bauarbeiten, vgl. Art. 4.|Bitte umfahren.",
        "Der 1. FC Köln spielt am 24. Dezember.|Karten gibt es hier.",
        "Antrag bis 31. 12. 2024 stellen.|Später geht es nicht.",
        "Das Amt (Hrsg. Bundesamt, 2. Aufl.) teilt mit.|Es ist neu.",
        "Er fragte: „Kommst du?“|Sie nickte.",
        "Max. 20 Personen, min. 5 Personen.|Anmeldung nötig.",
        "Er wohnt seit dem 1. Januar in der 2. Etage links.|Die Miete ist hoch.",
        "Bitte senden Sie ggf. Belege, insbes. Rechnungen, an Hrn. Maier.|Danke.",
        "Der Vertrag gilt i. d. R. zwei Jahre, m. a. W. lange.|Er endet von selbst.",
        "Kosten: 5 Mio. Euro lt. Bericht v. a. für Personal.|Das ist viel.",
        "Öffnungszeiten: Mo. bis Fr. von 8 bis 12 Uhr.|Samstag geschlossen.",
        "Die Mehrwertsteuer (MwSt.) beträgt 19 %.|Sie ist enthalten.",
        "Das St. Gallener Modell stammt von H. Ulrich.|Es ist bekannt.",
        "Hierzu s. Kap. 3, Abb. 5 und Tab. 2.|Die Daten sind alt.",
        "Er kam am 5. und ging am 7. wieder.|Niemand sah ihn.",
        "Kaiser Karl V. regierte lange.|Er war mächtig.",
        "Das kostet 20.|Mehr nicht.",
        "Äpfel, Birnen etc. gibt es hier.|Alles ist frisch.",
        "Die Temp. beträgt max. 30 Grad.|Es ist heiß.",
        "Nach § 4 Abs. 2 S. 1 EStG i. V. m. § 5 gilt das.|Es ist Gesetz.",
        "M. Dupont et Mme. Durand arrivent, p. ex. lundi.|Ils repartent mardi.",
        "Voir p. 12, art. 5 et al. 2 du code.|Il est clair.",
        "Le prix est de 3,50 euros env. par jour.|La taxe est en plus.",
        "Les chiens, chats, etc. sont admis.|Les oiseaux non.",
        "J.-P. Martin a écrit cela en 1990 av. J.-C. selon lui.|C'est faux.",
        "Appelez le n. 5 ou le tél. 01 23 45 67 89.|Merci beaucoup.",
        "Le dr. Blanc habite au 5 bd. Voltaire.|Il est absent.",
        "Traduit (Trad. par A. Petit, éd. Gallimard) en 1950.|C'est un classique.",
        "Est-ce ouvert ?|Oui !|Venez demain.",
        "Il a dit : « Venez. »|Puis il partit.",
        "Cf. le chap. 3, c.-à-d. la fig. 4.|Elle est utile.",
        "Le Dr. Leroy et M. A. Petit sont là.|Ils parlent.",
        "Voir fig. 3, p. 5, t. II, vol. 2.|C'est net.",
        "La S.N.C.F. et l'O.N.U. ont signé.|C'est fait.",
        "Ouvert du lun. au ven. de 8 h. à 12 h.|Fermé le samedi.",
        "Né en 50 av. J.-C. à Rome.|Il fut consul.",
        "Le no. 5 est pris.|Prenez le 6.",
        "Il gagne 3,5 M. d'euros.|C'est beaucoup.",
        "Réf. 123 obligatoire.|Merci.",
        "Le taux est de 2,5 %.|Il baisse.",
        "L'art. L. 123-4 s'applique.|Il est clair.",
        "El Sr. García y la Sra. López viven en EE. UU. desde 1990.|Son felices.",
        "Véase la pág. 12, p. ej. el art. 5 y el núm. 3.|Es claro.",
        "El Dr. Pérez atiende aprox. a 20 personas.|Llame antes.",
        "¿Está abierto?|¡Sí!|Venga mañana.",
        "Perros, gatos, etc. son admitidos.|Los pájaros no.",
        "El precio es 3,50 euros.|El IVA es aparte.",
        "Nació en el s. XX a. C. según J. L. Borges.|Es falso.",
        "Ud. debe pagar antes del 5 de mayo.|Uds. también.",
        "La Av. Corrientes y la c. Mayor están cerradas.|Tome el metro.",
        "El Ing. Gómez y la Dra. Ruiz llegaron.|Saludaron.",
        "Consulte el cap. 3, fig. 2 y tab. 4.|Es útil.",
        "Vive en la C/ Mayor núm. 5, 3.º izq., Madrid.|Es céntrico.",
        "La empresa, S.A. de C.V., cerró en dic. 2020.|Fue triste.",
        "Abre de 9 a. m. a 5 p. m. todos los días.|Entrada libre.",
        "Véase J. L. Borges, op. cit., pág. 5.|Es breve.",
        "El IVA es 21 %.|Está incluido.",
        "Il sig. Rossi e la sig.ra Bianchi arrivano, p. es. lunedì.|Partono martedì.",
        "Vedi pag. 12, art. 5 e n. 3 del codice.|È chiaro.",
        "Il dott. Verdi e il prof. Neri parlano, ecc. ecc. fino a sera.|Poi vanno via.",
        "L'ing. Rossi abita in P.za Dante n. 5.|È gentile.",
        "Aperto dalle 9 alle 12 ca. ogni giorno.|Gratis.",
        "To dotyczy np. dzieci, tj. osób do 12 lat.|Dorośli płacą więcej.",
        "Zob. art. 5 ust. 2 oraz pkt. 3 na str. 12.|Jest jasne.",
        "Dr. Kowalski mieszka przy ul. Długiej.|Jest lekarzem.",
        "Ul. Długa 5, m. 3, w godz. 8-12.|Zapraszamy.",
        "Mieszka tu prof. dr hab. A. Nowak.|Jest znany.",
        "Це діє, напр. для дітей, т. зв. пільговиків.|Дорослі платять більше.",
        "Живе на вул. Шевченка, буд. 5, кв. 12 у м. Київ.|Телефон є.",
        "Ціна 5 тис. грн. за місяць, тобто 60 тис. на рік.|Податок окремо.",
        "Коти, собаки і т. д. дозволені.|Птахи ні.",
        "У 2024 р. відкрили школу ім. І. Франка.|Вона нова.",
        "Див. ст. 5, п. 2 закону.|Він чинний.",
        "Т. Шевченко народився в 1814 р. у Моринцях.|Він поет.",
        "Ціна 10 млн. грн. і вище.|Дорого.",
        "Див. рис. 3, табл. 2 на с. 15.|Там усе.",
        "Вартість, напр. 100 грн, не включає ПДВ.|Платіть окремо.",
        "Це було у 1991 р.|Потім усе змінилось.",
        "Проф. Іваненко та акад. Петренко виступили.|Було цікаво.",
        "Это так, т. е. для детей, т. к. они малы.|Взрослые платят больше.",
        "Кошки, собаки и т. д. разрешены.|Птицы нет.",
        "В 2024 г. цена была 5 тыс. руб. за месяц.|Налог отдельно.",
        "Живёт на ул. Ленина, д. 5, кв. 12 в г. Москва.|Телефон есть.",
        "А. С. Пушкин родился в 1799 г. в Москве.|Он поэт.",
        "См. рис. 3 на стр. 12, напр. таблицу.|Она полезна.",
        "Это Открыто?|Да!|Приходите завтра.",
        "Он родился в 1799 г.|Потом жил в Москве.",
        "Проф. Иванов и акад. Петров выступили.|Было интересно.",
        "В 20 в. до н. э. жили люди.|Они строили.",
        "Цена 10 млн. руб. и выше.|Дорого.",
        "Рис, гречка и т. п. продаются здесь.|Всё свежее.",
        "Возврат в теч. 30 дн. с даты покупки.|Чек нужен.",
        "Л. Н. Толстой родился в Ясной Поляне.|Он писатель.",
    ],
)
def test_abbreviations_initials_and_ordinals_end_no_sentence(text: str) -> None:
    """In English, German, French, Spanish, Italian, Polish, Ukrainian and Russian, whatever the language of a chunk."""
    expected = text.split("|")
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "今天天气好。|我们走吧！|你来吗？|他说：“走吧。”|他走了。",
        "返金は30日以内です。|詳しくは第3条を見てください。|「はい。」と言った。|終わりです！",
        "値は３．５です。|次。",
    ],
)
def test_sentences_without_spaces_end_at_their_marks(text: str) -> None:
    """Of Chinese and Japanese, with the brackets that close after the mark."""
    expected = text.split("|")
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refunds\n\nThey take 30 days. Ask.", ["Refunds", "They take 30 days.", "Ask."]),
        ("# Hours\nOpen at 9. Closed at 5.", ["# Hours", "Open at 9.", "Closed at 5."]),
        ("Opening hours\nThe museum opens at 9 and closes at 5.", 2),
        ("Kapitel 3\nDie Gebühren\nDie Gebühr beträgt 5 Euro und ist am Schalter zu zahlen.", 3),
        ("You need:\na passport and\na photo.", ["You need:", "a passport and\na photo."]),
        ("Bring\n- a passport\n- a photo\n1) Go.\n2. Pay.", 5),
        ("The quick brown fox\njumps over. It ran.", ["The quick brown fox\njumps over.", "It ran."]),
        ("Die Frist endet am\n3. Mai 2024. Danach\nwird gemahnt.", 2),
        ("Send it before the end of the month of\nMay. Later forms are not read, and\nare sent back.", 2),
        ("| a | b |\n|---|---|\n| No. 1. Big | 2 |\nEnd.", ["| a | b |", "|---|---|", "| No. 1. Big | 2 |", "End."]),
        ("Run this:\n```\nx = a. B\nprint(x)\n```\nStop.", 6),
        ("SELECT a FROM b WHERE c = 'd. E';\nIt gives rows.", ["SELECT a FROM b WHERE c = 'd. E';", "It gives rows."]),
        ("Call `a.b. C` first. Then go.", ["Call `a.b. C` first.", "Then go."]),
        ("It is due in May.The fee is 30.It is paid.", ["It is due in May.", "The fee is 30.", "It is paid."]),
        ("See Node.Js, a.B and x.y.Com today.", 1),
        ("where a = b is the mean. It is 5.", 2),
    ],
)  # fmt: skip
def test_headings_items_rows_and_code_are_pieces(text: str, expected: list[str] | int) -> None:
    """A heading without a full stop, an item, a row and a line of code are one each; wrapped lines are joined."""
    found = sentences(text)
    assert found == expected if isinstance(expected, list) else len(found) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Das gilt z. B. für Kinder unter 12 Jahren",
        "Перевод (Trad. Juan López) стоит 500 руб. в месяц",
        "Adults in zone A. pay 5 euros approx. each day",
    ],
)
def test_facts_of_cases_are_whole_sentences(sentence: str) -> None:
    """By the words of the answer, and those that a judge points at: both know the same sentences."""
    contexts = [f"Something else stands first. {sentence}. Last comes this."]
    assert supporting_sentences(f"{sentence}.", contexts) == [sentence]
    assert [one.text for one in numbered_sentences(contexts)][1] == f"{sentence}."


@pytest.mark.parametrize(
    "piece",
    [".", "a", ". ", "Mr. ", '."', "a.a. ", "。", "\n", "(", "A. ", "1. ", "z. B. ", "a(", "(a", "= a", "a(\n", "`"],
)
def test_a_giant_text_is_cut_in_bounded_time(piece: str) -> None:
    """A row of marks, abbreviations or brackets is read once."""
    assert len(sentences(piece * 100_000 + "end")) <= 100_001


@given(TEXTS)
def test_sentences_are_slices_in_order(text: str) -> None:
    """They have all characters but blanks, in order, and none is blank."""
    found = sentences(text)
    at = 0
    for sentence in found:
        at = text.index(sentence, at) + len(sentence)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in found)
