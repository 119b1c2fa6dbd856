"""Orders to a language model within a document, such as "Ignore all previous instructions", in the usual languages."""

from __future__ import annotations

import re
from typing import NamedTuple


class _Words(NamedTuple):
    """Words of a language for leaving out, for what was said before, and for instructions; `never` takes them back."""

    verbs: str
    earlier: str
    instructions: str
    never: str


_LANGUAGES = (
    _Words(
        r"ignore|disregard|forget|override|bypass",
        r"all|any|your|previous|prior|above|earlier|preceding|foregoing|original|system",
        r"instructions?|prompts?|rules?|guidelines?|directions?|commands?",
        r"never|not|n't|who",
    ),
    _Words(
        r"ignorier\w*|vergiss|vergessen|missachte\w*|überschreib\w*",
        r"vorherig\w+|vorhergehend\w+|vorangegangen\w+|bisherig\w+|obig\w+|früher\w+|alle\w*|dein\w*",
        r"anweisung\w*|instruktion\w*|prompts?|regeln|vorgaben|befehle?n?|aufforderung\w*",
        r"nie|niemals|nicht",
    ),
    _Words(
        r"ignore[zr]?|oublie[zr]?|(?:tiens|tenez) pas compte",
        r"précédent\w*|antérieur\w*|ci-dessus|tou(?:te)?s|tes|vos",
        r"instructions?|consignes?|directives?|ordres?|règles?",
        r"jamais|(?<!tiens )(?<!tenez )pas",
    ),
    _Words(
        r"ignor[ae]d?|olvid[ae]d?|descart[ae]d?",
        r"anterior\w*|previ[ao]s?|tod[ao]s|tus|sus",
        r"instruccion\w*|indicacion\w*|órdenes|reglas|prompts?",
        r"nunca|jamás|no",
    ),
    _Words(
        r"ignor(?:a|ate|i)|dimentic(?:a|ate|hi)|trascur(?:a|ate|i)",
        r"precedent\w*|sopra|tutt[ei]|tue|vostre",
        r"istruzion\w*|indicazion\w*|ordini|regole|prompt",
        r"mai|non",
    ),
    _Words(
        r"ignor[ae]m?|esque[cç][ae]m?|desconsider[ae]m?",
        r"anterior\w*|prévi[ao]s?|acima|tod[ao]s|suas|tuas",
        r"instruç\w+|orientaç\w+|ordens|regras|prompts?",
        r"nunca|jamais|não",
    ),
    _Words(
        r"negeer|vergeet",
        r"vorige|eerdere|voorgaande|bovenstaande|alle|je|uw",
        r"instructies?|aanwijzingen|opdrachten|regels|prompts?",
        r"nooit|niet",
    ),
    _Words(
        r"(?:z?ignoruj|zapomnij|pomiń)\w*",
        r"poprzedni\w*|wcześniejsz\w*|powyższ\w*|wszystki\w*|swoj\w*",
        r"instrukcj\w*|poleceni\w*|poleceń|zasad\w*",
        r"nigdy|nie",
    ),
    _Words(
        r"(?:про)?игнорируй\w*|забудь\w*|не обращай\w* внимания",
        r"предыдущ\w*|прежн\w*|вышеуказанн\w*|все|всех|свои",
        r"инструкци\w*|указани\w*|команд\w*|правил\w*",
        r"никогда|не(?! обращай)",
    ),
    _Words(
        r"(?:про)?ігноруй\w*|забудь\w*",
        r"попередн\w*|всі|усі|свої",
        r"інструкці\w*|вказівк\w*|команд\w*|правил\w*",
        r"ніколи|не",
    ),
    _Words(
        r"忽略|忽視|无视|無視|忘记|忘記",
        r"之前|以前|以上|前面|先前|上述|所有",
        r"指令|指示|说明|說明|提示|规则|規則",
        r"不要|请勿|請勿|切勿",
    ),
    _Words(r"無視|忘れ", r"以前|これまで|上記|前の|すべて|全て", r"指示|命令|プロンプト|ルール", r"しないで|ないで"),
    _Words(r"무시|잊", r"이전|위의|앞의|모든", r"지시|명령|프롬프트|규칙", r"마세요|말고|않"),
    _Words(
        r"ignorera|ignorer\w?|glöm|glem|bortse|se bort fra",
        r"tidigare|tidligere|föregående|foregående|forrige|ovanstående|ovenstående|all[ae]",
        r"(?:instruk[ts]\w+|anvisning\w*|regler\w*|prompt\w*)",
        r"aldrig|aldri|inte|ikke|ikkje",
    ),
    _Words(
        r"ohita|unohda|jätä huomiotta", r"aiemmat|edelliset|edeltävät|kaikki", r"ohjeet|säännöt|käskyt", r"älä|koskaan"
    ),
    _Words(
        r"(?:z?ignoruj\w*|zapomeň\w*|zabudni\w*)",
        r"předchozí\w*|predchádzajúc\w+|předešl\w+|všechny|všetky",
        r"pokyn\w*|instrukc\w+|inštrukci\w+|příkaz\w*|pravidla",
        r"nikdy|ne\w+ignor\w+",
    ),
    _Words(
        r"ignor(?:ă|ați|a)|uită|uitați",
        r"anterioar\w+|precedent\w+|toate",
        r"instrucțiun\w+|comenzi\w*|reguli\w*",
        r"nu|niciodată",
    ),
    _Words(
        r"αγν[οό]ήσ\w+|αγνόησε|αγνοήστε|ξέχασε|ξεχάστε",
        r"προηγούμεν\w+|παραπάνω|όλες",
        r"οδηγίες|εντολές|κανόνες",
        r"μην|ποτέ",
    ),
    _Words(r"hagyd figyelmen kívül|felejtsd el", r"korábbi|előző|fenti|összes", r"utasítás\w*|szabály\w*", r"ne|soha"),
    _Words(
        r"пренебрегни|игнорирай\w*|забрави\w*",
        r"предишн\w+|предходн\w+|всички",
        r"инструкци\w+|указани\w+",
        r"не|никога",
    ),
    _Words(
        r"yok say\w*|unut(?:un(?:uz)?)?|görmezden gel\w*|dikkate alma(?:yın(?:ız)?)?",
        r"önceki|yukarıdaki|tüm|bütün",
        r"talimat\w*|komut\w*|yönerge\w*|kural\w*",
        r"asla|unutmayın\w*|değil",
    ),
    _Words(r"bỏ qua|quên|phớt lờ", r"trước|ở trên|tất cả", r"hướng dẫn|chỉ thị|lệnh", r"đừng|không"),
    _Words(r"abaikan|lupakan", r"sebelumnya|di atas|semua", r"instruksi|perintah|arahan|aturan", r"jangan|tidak"),
    _Words(r"puuza|sahau", r"yaliyotangulia|ya awali|yote", r"maagizo|maelekezo", r"usi\w+|kamwe"),
    _Words(r"अनदेखा|नज़रअंदाज़|भूल", r"पिछले|पहले|सभी|ऊपर", r"निर्देश\S*|आदेश\S*", r"(?:न|नहीं|मत|कभी)(?=\s)"),
    _Words(r"উপেক্ষা|ভুলে", r"পূর্ববর্তী|আগের|সব", r"নির্দেশ\S*|আদেশ\S*", r"না|কখনো"),
    _Words(r"התעלמ?ם?ו?|שכחו?", r"הקודמות|הקודם|לעיל|(?:מ|את )?כל", r"ה?הוראות|ה?פקודות", r"אל|לא"),
    _Words(r"نادیده|فراموش", r"قبلی|بالا|همه", r"دستور\S*", r"نباید|هرگز|نکن\S*|نگیر\S*"),
    _Words(r"تجاهل|انس", r"السابقة|أعلاه|جميع|كل", r"التعليمات|الأوامر|القواعد", r"لا"),
)
_FAR = 60
"""Characters in which all words of an order stand."""
_CLAUSE = re.compile(r"[^.!?。！？;；\n]+")
_THE_ABOVE = re.compile(
    r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|everything\s+|anything\s+|of\s+|the\s+)*"
    r"(?:above|previous|before|foregoing)\b(?=\s*(?:[,:]|and\b|$))",
    re.IGNORECASE,
)


def _whole(words: str) -> re.Pattern[str]:
    # The scripts without blanks have no borders of words.
    return re.compile(words if words[0] > "\u2e80" else rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


_PATTERNS = tuple(tuple(map(_whole, words)) for words in _LANGUAGES)


def gives_orders(text: str) -> bool:
    """Return whether a text tells its reader to leave out what was asked before: no fact, whoever cites it.

    One that says never to do so is none, nor one about other things than instructions.
    """
    return any(_is_order(clause[0]) for clause in _CLAUSE.finditer(text))


def _is_order(clause: str) -> bool:
    if _THE_ABOVE.search(clause):
        return True
    for verbs, earlier, instructions, never in _PATTERNS:
        for verb in verbs.finditer(clause):
            near = clause[max(0, verb.start() - _FAR) : verb.end() + _FAR]
            if earlier.search(near) and instructions.search(near) and not never.search(near):
                return True
    return False
