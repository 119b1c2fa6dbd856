import json
import re
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.schema import MisfitError, check_schema, read, read_cut

VERDICTS = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "chunks": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}},
                    "verdict": {"type": "string", "enum": ["S", "C", "N"]},
                },
                "required": ["chunks", "verdict"],
                "additionalProperties": False,
            },
            "minItems": 1,
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


PLAIN = '{"verdicts": [{"chunks": [1, 3], "verdict": "S"}]}'


def test_a_reply_that_fits_is_its_value() -> None:
    """JSON with a code fence around it is that JSON."""
    value = {"verdicts": [{"chunks": [1, 3], "verdict": "S"}]}
    assert read(json.dumps(value), VERDICTS) == value
    assert read(f"Here it is:\n```json\n{json.dumps(value)}\n```", VERDICTS) == value


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}\nI hope this helps {{and}} is {{clear}}.",
        f"From {{chunk 1}} and {{}} I get {PLAIN}",
        f"{PLAIN} Once more: {PLAIN}",
        f"<think>\nFirst {PLAIN.replace('S', 'N')}, but no.\n</think>\n{PLAIN}",
        f"The template began the thought. {PLAIN.replace('S', 'C')}</think>{PLAIN}",
        f"[THINK]First {PLAIN.replace('S', 'N')}, but no.[/THINK]{PLAIN}",
        f"<|channel|>analysis<|message|>{PLAIN.replace('S', 'N')}<|end|><|channel|>final<|message|>{PLAIN}",
        f"[{PLAIN}]",
        PLAIN.replace('"S"', '"S", "why": "it says </think> there", "score": null'),
        PLAIN.replace('"S"', '"S",\n"why": "a\nb </think>"').join(("Here:", "!")),
        PLAIN.replace('"S"', '"s"'),
        PLAIN.replace('"S"', '"Supported."'),
        PLAIN.replace("1, 3", '"1", 3.0'),
        PLAIN.replace("1, 3", '"chunk 1", "Chunk #3"'),
        PLAIN.replace("[1, 3]", '"1, 3"'),
        PLAIN.replace('"S"', '"S - chunks 1 and 3 say so"'),
        PLAIN.replace('"S"', '"Supported (chunk 1)"'),
        PLAIN.replace('"', "'"),
        PLAIN.replace("}]}", "},],}"),
        PLAIN.replace("}]}", "}, // all of them\n], /* that is it */}"),
        PLAIN.replace('"verdicts"', "verdicts").replace('"S"', '"S", "is_sure": True, "why": None'),
        PLAIN.replace('"S"', '"S", "why": "it says "so" there",'),
        PLAIN.replace('"', "'").replace("'S'", "'S', 'why': 'the river's long'"),
        PLAIN.replace('"', "&quot;"),
        json.dumps(PLAIN),
        json.dumps({"answer": PLAIN}),
        f"Here it is: {json.dumps(PLAIN)}",
        f'{{"result": {{"answer": {PLAIN}, "note": "{{}}"}}}}',
        f'<tool_call>{{"name": "answer", "arguments": {PLAIN}}}</tool_call>',
        f"Draft:\n```json\n{PLAIN.replace('S', 'N')}\n```\nFinal answer:\n```json\n{PLAIN}\n```",
        f"{PLAIN.replace('S', 'N')} No, corrected: {PLAIN} I hope that the final {{}} helps.",
        f"<think>Perhaps {PLAIN.replace('S', 'N')}, but no.\n\n{PLAIN}\n",
        f"\ufeff{PLAIN}",
        f"{PLAIN}\n<think>Or was it {PLAIN.replace('S', 'N')}?</think>",
        f"<scratchpad>{PLAIN.replace('S', 'N')}</scratchpad><output>{PLAIN}</output>",
        f"{PLAIN.replace('S', 'N')}\nWait, chunk 1 says so.\n{PLAIN}",
        PLAIN.replace('"verdicts"', '"Verdicts"').replace('"verdict"', '" VERDICT "'),
        json.dumps(json.loads(PLAIN)["verdicts"]),
        json.dumps({"reasoning": PLAIN.replace("S", "N"), "answer": {"results": [json.loads(PLAIN)]}}),
        json.dumps({"answer": f"```json\n{PLAIN}\n```"}),
        json.dumps({"tool_calls": [{"function": {"name": "answer", "arguments": PLAIN}}]}),
        PLAIN.replace('"S"', '"S", "score": NaN, "note": undefined'),
        PLAIN.replace('"S"', "S"),
        PLAIN.replace("1, 3", "01, +3"),
        PLAIN.replace("[1, 3]", "(1, 3)"),
        PLAIN.replace(":", "："),
        *(re.sub('"([^"]*)"', rf"{opening}\1{closing}", PLAIN) for opening, closing in ("“”", "„“", "‘’", "«»", "””")),
        PLAIN.replace('"S"', '"S", "why": "the "so", or "not", of chunk 1"'),
        PLAIN.replace('"S"', r'"S", "why": "a \(b\)"'),
        PLAIN.replace(" ", "\u200b \0"),
        PLAIN.replace("[", "\\["),
        PLAIN.replace(", ", ",\\n"),
        PLAIN.replace(", ", ",<br>\n> "),
        PLAIN.replace('1, 3], "verdict"', '1, 3]\n"verdict"'),
        PLAIN.replace('"', "&#39;"),
        PLAIN.replace("1, 3", '"C1", "<chunk 3 5f0e3a>"'),
        PLAIN.replace("1, 3", '"chunk_1", "chunk no. 3"'),
        PLAIN.replace("1, 3", '{"chunk": 1}, {"number": 3}'),
        PLAIN.replace("[1, 3]", '"chunks 1 and 3"'),
        PLAIN.replace("[1, 3]", '"[1; 3]"'),
        PLAIN.replace("[{", "{").replace("}]", "}"),
        *(
            PLAIN.replace('"S"', json.dumps(said))
            for said in ("(S)", "S; so", "verdict: S", "supported by chunk 1", "ENT")
        ),
        PLAIN.replace('"S"', '["S"]'),
        PLAIN.replace('"S"', '{"label": "S"}'),
        *(
            f"{begin}{PLAIN.replace('S', 'N')}{end}{PLAIN}"
            for begin, end in (
                ("<start_of_thought>", "<end_of_thought>"),
                ("<|begin_of_thought|>", "<|end_of_thought|><|begin_of_solution|>"),
                ("<inner_monologue>", "</inner_monologue>"),
                ("<antThinking>", "</antThinking>"),
                ("<internal>", "</internal>"),
                ("Here is my thought process:\n", "\nHere is my response:\n"),
            )
        ),
        *(
            f"{PLAIN}{end}{PLAIN.replace('S', 'N')}"
            for end in ("<|im_end|>\n<|im_start|>user\n", "</s><s>", "<end_of_turn>", "\n\nHuman: ")
        ),
        PLAIN.replace('"S"', '"S", "why": "it says </s> there"'),
        f"{PLAIN}\n<think>Wait, chunk 1 says so.</think>",
        PLAIN.replace('"S"', '"S" /* chunk 1 says so */'),
        PLAIN.replace('"S"', '"S" // chunk 1 says so\n'),
        PLAIN.replace('"verdicts"', '"**Verdicts:**"').replace('"verdict"', '"ｖerdict:"'),
        PLAIN.replace("1, 3", '"【1】", "３"').replace("[{", "[[{").replace("}]", "}]]"),
        json.dumps({"verdicts": json.dumps(json.loads(PLAIN)["verdicts"])}),
        json.dumps({"verdicts": [json.dumps(one) for one in json.loads(PLAIN)["verdicts"]]}),
        PLAIN.replace('"', "&amp;quot;"),
        PLAIN.replace('"S"', '"S", "why": "a &amp;quot;b&amp;quot;"').replace('"', "&quot;"),
        f"{PLAIN.replace('S', 'N')}\nLet me reconsider: chunk 1 says so.\n{PLAIN}",
        f"{PLAIN}\nThis should be valid JSON.",
        *(PLAIN.replace('"S"', json.dumps(said, ensure_ascii=False)) for said in ("Ｓ", "\u200fS", "S\u200b")),
    ],
)
def test_what_is_oddly_written_is_what_is_meant(text: str) -> None:
    """Prose, thoughts, keys that nobody asked for, words and numbers written otherwise."""
    assert read(text, VERDICTS) == json.loads(PLAIN)


def test_an_object_that_begins_anew_within_another_is_none_of_its_parts() -> None:
    """Wherever a draft breaks off: what follows it is read alone, or the judge is asked again."""
    note = ', "useful": [1], "refusal": false}'
    draft, final = (text[:-1] + note for text in (PLAIN.replace("S", "N"), PLAIN))
    found = set()
    for end in range(len(draft)):
        for between in ("\n", ""):
            with suppress(MisfitError):
                found.add(json.dumps(read(f"{draft[:end]}{between}{final}", VERDICTS)))
    assert found == {PLAIN}


@pytest.mark.parametrize(
    "behind",
    [
        "Correction: chunk 1 denies it.",
        "Wait, that is N.",
        "On second thought, N.",
        "This is wrong.",
        "It should be N.",
    ],
)
def test_an_object_that_is_taken_back_is_asked_again(behind: str) -> None:
    with pytest.raises(MisfitError, match="takes its JSON object back"):
        read(f"{PLAIN}\n{behind}", VERDICTS)
    final = f"{PLAIN.replace('S', 'N')}\n{behind}\n{PLAIN}"
    assert read(final, VERDICTS) == json.loads(PLAIN)
    with pytest.raises(MisfitError, match="takes its JSON object back"):
        read(f"{final}\n{behind}", VERDICTS)


def test_a_number_for_a_list_of_numbers_is_a_list_of_one() -> None:
    assert read(PLAIN.replace("[1, 3]", "2"), VERDICTS) == {"verdicts": [{"chunks": [2], "verdict": "S"}]}


def test_a_reply_that_shows_the_format_first_is_what_the_check_passes() -> None:
    """Of several objects that fit, one that does not fit the question is not meant; two that do are."""

    def check(value: Any) -> None:
        if value["verdicts"][0]["chunks"] == [2]:
            raise MisfitError("verdicts", "no")

    form = PLAIN.replace("1, 3", "2")
    assert read(f"{form}\n{PLAIN}", VERDICTS, check=check) == json.loads(PLAIN)
    with pytest.raises(MisfitError, match="2 JSON objects"):
        read(f"{form}\n{PLAIN}", VERDICTS)
    with pytest.raises(MisfitError, match="2 JSON objects"):
        read(f"{PLAIN.replace('S', 'N')}\n{PLAIN}", VERDICTS, check=check)


@pytest.mark.parametrize("chunks", ['"none"', '""', '"[]"', "[null]", '["N/A"]', '"-"'])
def test_words_for_no_numbers_are_none(chunks: str) -> None:
    assert read(PLAIN.replace("[1, 3]", chunks), VERDICTS) == {"verdicts": [{"chunks": [], "verdict": "S"}]}


@pytest.mark.parametrize("said", ["supported by no chunk", "Partially supported", "S or N", "unknown", "no", "N/A"])
def test_words_that_may_mean_either_are_no_verdict(said: str) -> None:
    with pytest.raises(MisfitError, match="is none of"):
        read(PLAIN.replace('"S"', json.dumps(said)), VERDICTS)


@pytest.mark.parametrize("said", [{"support": "none"}, {"contradiction": "none"}, {"supported": "N"}, {"C": "N"}])
def test_the_name_of_an_object_may_be_denied_by_its_word(said: Any) -> None:
    """`{"contradiction": "none"}` may be support too."""
    with pytest.raises(MisfitError, match="is no string"):
        read(PLAIN.replace('"S"', json.dumps(said)), VERDICTS)


def test_what_optional_properties_say_may_be_of_no_use() -> None:
    """It is left out like one that is missing; what is required is not."""
    reply = PLAIN.replace("[1, 3]", '"all"')
    assert read(reply, VERDICTS, {"chunks"}) == {"verdicts": [{"verdict": "S"}]}
    with pytest.raises(MisfitError, match="is no array"):
        read(reply, VERDICTS)


def test_of_a_reply_that_was_cut_the_whole_items_count() -> None:
    """Where the check finds all of them, and what is missing is optional."""

    def check(value: Any) -> None:
        if len(value["verdicts"]) != 2:
            raise MisfitError("verdicts", "one is missing")

    schema = VERDICTS | {"required": ["verdicts", "note"]}
    item = PLAIN[PLAIN.index("[") + 1 : -2]
    for end in ('], "note": "that is', "]", "", ", "):
        cut = f'<think>{{}}</think>{{"verdicts": [{item}, {item}{end}'
        assert read_cut(cut, schema, {"note"}, check) == {"verdicts": [json.loads(item)] * 2}
    for wrong in (f'{{"verdicts": [{item}, {item[:-1]}', f'{{"verdicts": [{item}', "{", "", "no"):
        with pytest.raises(MisfitError):
            read_cut(wrong, schema, {"note"}, check)
    with pytest.raises(MisfitError, match="'note' is missing"):
        read_cut(cut, schema, {"other"}, check)
    with pytest.raises(MisfitError, match="is cut"):
        read_cut(cut, schema, frozenset(), None)
    with pytest.raises(MisfitError, match="is cut"):
        read_cut(cut, VERDICTS, frozenset(), check)


def test_what_is_optional_may_be_missing() -> None:
    """It is left out, and all else must still be there."""
    reply = '{"verdicts": [{"verdict": "S"}]}'
    assert read(reply, VERDICTS, {"chunks"}) == {"verdicts": [{"verdict": "S"}]}
    with pytest.raises(MisfitError, match="'chunks' is missing"):
        read(reply, VERDICTS)
    with pytest.raises(MisfitError, match="'verdict' is missing"):
        read('{"verdicts": [{}]}', VERDICTS, {"chunks"})


def test_null_for_a_list_is_an_empty_one_and_yes_is_true() -> None:
    """Where the schema has a list, or a boolean, and no other."""
    schema = {
        "type": "object",
        "properties": {"chunks": {"type": "array"}, "is_so": {"type": "boolean"}, "why": {"type": ["string", "null"]}},
    }
    reply = '{"chunks": null, "is_so": "Yes", "why": null}'
    assert read(reply, schema) == {"chunks": [], "is_so": True, "why": None}


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace('"S"', '"S", "verdict": "N"'),
        PLAIN.replace("}]}", '}], "verdicts": [{"chunks": [1], "verdict": "S"}]}'),
        "Here: " + PLAIN.replace('"S"', '"S", "verdict": "N"') + " and once more: " + PLAIN,
    ],
)
def test_a_key_that_is_given_twice_says_nothing(text: str) -> None:
    """An object that contradicts itself is no verdict, also where it stands within another one or beside a good one."""
    with pytest.raises(MisfitError, match="gives a key twice in one object, with different values"):
        read(text, VERDICTS)


def test_a_key_that_is_given_twice_with_one_value_is_that_value() -> None:
    assert read(PLAIN.replace('"S"', '"S", "verdict": "S"'), VERDICTS) == json.loads(PLAIN)


def test_no_reply_keeps_a_judge_busy() -> None:
    """A megabyte of braces, or of objects that never end, is no JSON after a thousand looks."""
    for text in ("{" * 1_000_000, '{"a":' * 200_000, "<think>" * 150_000 + "{" * 1_000):
        with pytest.raises(MisfitError, match="is no JSON"):
            read(text, VERDICTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON"),
        ("SUPPORTED", "is no JSON"),
        ('{"verdicts": [', "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"verdicts": NaN}', "verdicts: null is no array"),
        ("[]", "the reply: .* is no object"),
        ("{}", "the reply: 'verdicts' is missing"),
        ('{"verdicts": []}', "verdicts: 0 items are fewer than 1"),
        ('{"verdicts": [{"chunks": [1], "verdict": "yes"}]}', r'verdicts\[0\].verdict: "yes" is none of \["S", "C"'),
        ('{"verdicts": [{"chunks": [4], "verdict": "S"}]}', r"verdicts\[0\].chunks\[0\]: 4 is more than 3"),
        ('{"verdicts": [{"chunks": [true], "verdict": "S"}]}', "true is no integer"),
        ('{"verdicts": [{"chunks": [1.5], "verdict": "S"}]}', "1.5 is no integer"),
        ('{"verdicts": [{"chunks": ["one"], "verdict": "S"}]}', '"one" is no integer'),
        ('{"verdicts": [{"chunks": ["4"], "verdict": "S"}]}', "4 is more than 3"),
        ('{"verdicts": [{"chunks": null, "verdict": "Partly supported"}]}', "Partly supported.* is none of"),
        ('{"verdicts": [{"chunks": [1], "verdict": null}]}', "null is no string"),
        ('{"verdicts": null}', "verdicts: null is no array"),
        ('{"verdicts": [{"chunks": [], "verdict": "S", "Verdict": "N"}]}', "gives a key twice"),
        (f"{PLAIN} {PLAIN.replace('S', 'N')}", "2 JSON objects in it fit, and say different things"),
        (f"<think>{PLAIN}</think>", "is no JSON"),
        (f"<think>It may be {PLAIN}", "is no JSON"),
        (f"It may be {PLAIN}, or not.</think> I cannot say.", "is no JSON"),
        (f'{{"answer": {PLAIN}, "other": {PLAIN.replace("S", "N")}}}', "2 JSON objects in it fit"),
        ('{"answer": {"note": 1}}', "'verdicts' is missing"),
        (f"Draft: {PLAIN} {PLAIN.replace('S', 'N')} That is final.", "2 JSON objects in it fit"),
        (f"<think>Perhaps\n{PLAIN}\nBut is it so?", "is no JSON"),
        (PLAIN[:-1], "'verdicts' is missing"),
        (PLAIN.replace('"S"', "'it's', 'so'"), "is no JSON"),
        (PLAIN.replace("[1, 3]", '"1 to 3"'), "is no array"),
        (PLAIN.replace("[1, 3]", '["not 1"]'), "is no integer"),
        (PLAIN.replace('"S"', '"S or N"'), "is none of"),
    ],
)
def test_a_misfit_says_where_and_what(text: str, message: str) -> None:
    """The judge is sent this when it is asked again."""
    with pytest.raises(MisfitError, match=message):
        read(text, VERDICTS)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    """UTF-8 cannot hold it, and so no table could."""
    assert read(r'{"fact": "a\ud83d"}', {"type": "object"}) == {"fact": "a?"}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array"}, "must have type object"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "'text' is none of"),
        ({"type": "object", "properties": {"a": {"items": {"pattern": "x"}}}}, "'pattern' is not known"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "can only be false"),
    ],
)
def test_a_schema_that_would_not_be_checked_is_refused(schema: dict[str, Any], message: str) -> None:
    """A keyword that nobody looks at would let any reply pass."""
    with pytest.raises(ValueError, match=message):
        check_schema(schema)


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.5]) | st.sampled_from(["a", "b", ""])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def parts(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.just(False),
            "items": inner,
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "enum": st.lists(LEAVES, min_size=1, max_size=3),
            "minimum": st.integers(-2, 2),
            "maximum": st.integers(-2, 2),
        },
    )


SCHEMAS = st.recursive(parts(st.just({})), parts, max_leaves=4)


@given(value=VALUES, schema=SCHEMAS)
def test_what_fits_is_what_json_schema_says(value: Any, schema: dict[str, Any]) -> None:
    """What fits by the jsonschema package is read as it is, and what is read fits, for every keyword that is known."""
    document = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    check_schema(document)
    fits = jsonschema.Draft202012Validator(document).is_valid
    try:
        parsed = read(json.dumps({"value": value}), document)
    except MisfitError:
        assert not fits({"value": value})
    else:
        assert fits(parsed)
        assert parsed == {"value": value} or not fits({"value": value})
