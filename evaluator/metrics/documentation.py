"""Generator of docs/metrics.md from the metrics' own descriptions: `python -m evaluator.metrics.documentation`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from evaluator.metrics.description import NOT_READ, Description, OddCases
from evaluator.metrics.llm.verdicts.documentation import section
from evaluator.metrics.options import Form, forms_of, options_of
from evaluator.metrics.registry import FAMILIES
from evaluator.metrics.scores import Metric, optional_columns
from evaluator.models import Role
from lake.spec.metric_names import metric_name

_HEAD = """\
# Metrics

<!-- Written by `python -m evaluator.metrics.documentation docs/metrics.md` from the metrics themselves. -->

Every metric, with its formula and whose it is; at the end, what the verdicts of a judge come to. As a library:

```python
import pandas as pd

from evaluator.metrics import FactsRecall, StatementMatcher, compute

frame = pd.DataFrame(
    {
        "contexts": [["The sky is blue.", "Grass is green."]],
        "facts": [["sky is blue", "snow is white"]],
        "context_ids": [["a", "b"]],
        "reference_context_ids": [["b"]],
    }
)
scores = compute(frame, ["facts_recall", "id_recall@1", FactsRecall(matcher=StatementMatcher(threshold=90))])
print(scores.loc[0, "facts_recall"])  # 0.5
```

A frame's columns are `question` and `answer` (text), `contexts`, `context_ids`, `reference_answers`,
`reference_contexts`, `reference_context_ids` and `facts` (lists of text; contexts and their ids in rank order);
`images` (lists of data URLs, for [judges that read images](judges.md#images));
`tool_calls` and `reference_tool_calls` (lists of objects with `name`, `arguments` as JSON text, and `is_error`);
`conversation` (a list of objects with `question` and `answer`, its turns);
`duration_ms`, `price` and `deployment_price` (numbers); `is_answerable_label` (true or false). Ids are strings, a
whole number is the string of its digits, and nothing is trimmed or folded.

## What all of them keep to

- A row that cannot be scored is null with a reason and never an exception: `no_ground_truth`, `no_facts`,
  `no_contexts`, `no_answer`, `no_question`, `no_citations`, `unknown_language`, `too_short`, `too_long`,
  `no_duration`, `no_price`, `no_tool_calls`, `unknown_results`, `no_topics`, `nothing_answered`,
  `nothing_allowed`, `one_turn`, `no_intents`, `no_claims`, `no_entities`, `refusal`,
  `zero_vector`, `tie`, `not_a_number`, `no_probabilities`, `no_image`, why a judge
  gave no answer (`judge_failed`, `judge_cut`, `judge_refused`, `judge_content_filter`, `judge_timeout`,
  `judge_budget`, `judge_unpriced`, `judge_unavailable`), or `unreadable_<column>` where a cell holds
  something else than its column's type. A reason beside a value is a remark.
- What is empty on the side of the ground truth is null. What is empty on the side of the system (an empty list of
  contexts, an empty answer) is 0, so that silence cannot lift a mean. What is not known (a missing cell) is null.
  Metrics of a judge are null there: it has nothing to judge. Look at `empty_answer` and `refusal` beside them.
- Means are over questions. `aggregate(scores)` says beside a mean how many rows it is over, and how many have no value,
  by reason.
- A version changes whenever a row may get another value, and an option that changes the arithmetic stands in it:
  `1-denominator=k`. Values of two versions are never compared.

## Texts, numbers and sentences

- **One Unicode form**: metrics of facts, `faithfulness_kprecision` and `case_passed` compare texts in NFKC without soft
  hyphens and other invisible characters, with ASCII dashes, quotation marks and spaces. Places in details are those of
  the text as it was.
- **Numbers by value**: 1,000, 1 000, 1'000 and 1000 are one number, and so are 3,5 and 3.5; 1.000 may be 1 or 1000.
  Read are signs, percent, currencies and units (`5 mg` is not `5 g`, `5 €` not `$5`), fractions, powers,
  magnitudes (3k, 2 million) and digits of other scripts. A hyphen in a range or a date is no sign. A number
  without a unit agrees with one that has any; units are not converted. `case_passed` reads numbers in words
  too (thirty, neunundneunzig, quatre-vingt-dix, тридцати, 九十, สามสิบ) of some forty languages: "ninety days" in the
  place of "thirty days" fails a case. A number in words that is left out fails none.
- **Sentences** end at no abbreviation (`z. B.`, `p. ex.`, `т. е.`), initial or ordinal (`am 3. Mai`) of English,
  German, French, Spanish, Italian, Polish, Ukrainian or Russian, and at the full stops of Chinese and Japanese.
  Headings, items, rows of tables, lines of code and lines that end in a colon are pieces of their own, wrapped lines
  are joined. The rules are dialwatch's: most libraries (sentencex, pysbd, sentence-splitter) need the language
  of each chunk, and those that were tried cut more abbreviations. `context_relevance_sentences` counts sentences as
  pysbd does, for ragas' number.
- A metric that promises another package's number reads texts as that package does: `facts_recall_aidial_rag_eval`,
  `answer_correctness_token_recall_squad` and `FaithfulnessKPrecision(aggregation="max", tokenisation="squad")`, which
  are unitxt's.
- **Texts without spaces between words** (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are cut into small tokens by
  themselves where tokens are counted: Chinese into characters, the others into pairs of letters. Numbers of other texts
  are those of unitxt's tokens. The form `..._squad` is unitxt's number of any text: one token from space to space, so a
  right answer in Chinese is mostly 0. ROUGE and BLEU need a form or an option for such texts.

## Models

Some metrics ask a local model. They need `pip install '.[models]'` in a checkout, and the model on this machine: in a
folder, or by its name in the cache of Hugging Face (`hf download google/flan-t5-small` fetches it once). Nothing is
downloaded while scoring. A model is loaded once a process, by the first row that needs it; a metric whose model is
missing raises `ModelUnavailableError`, which says what was looked for and where. The service and `dialwatch score`
leave that metric out, say so, and score the others.

```python
from evaluator.metrics import Models, SemanticSimilarity

similarity = SemanticSimilarity(models=Models(sentence_encoder="/models/all-MiniLM-L6-v2"))
print(similarity.version)  # 1-all-MiniLM-L6-v2
```

`Models` has a name or folder for each role (@ROLES@),
`device` (`auto`, `cpu`, `cuda`, `cuda:1`), `dtype` (`float32`, `bfloat16`) and `batch_tokens`. The model's last
name and a reduced precision stand in the version: put other weights into a folder of another name.

## Judges

Some metrics ask a language model, at a price. A `JudgeClient` holds the judges by name and the file that keeps every
call and its reply: what was asked once is never paid again.

```python
from pathlib import Path
from typing import get_args

from evaluator.judges import JudgeClient, JudgeSettings
from evaluator.metrics import metric_named

mini = JudgeSettings(base_url="http://dial:8080", deployment="gpt-4o-mini", prompt_price=0.15, completion_price=0.6)
client = JudgeClient({"mini": mini}, Path("judge_calls.sqlite"))
print(metric_named("faithfulness_claims", judge=client.judge("mini")).judge_name)  # mini
# compute(frame, ["faithfulness_claims", "context_recall"], judge=client.judge("mini")), then client.close()
```

- Most of them are arithmetic on the same claims and verdicts: the claims of the answer, each with the contexts that
  speak for it and a verdict, and in a second call those of the reference answer. One call a row, two with a reference
  answer, however many of these metrics are asked for. Longer texts take more: 20 sentences or claims a call. Prompts,
  replies and details call a claim a `fact`.
- For 6 sentences, 10 contexts of together 1,266 tokens and as long a reference answer the prompts have 1,947 and 2,145
  tokens (cl100k), and the schemas, which some endpoints count, 152 and 160 more. Contexts come first and are the same
  in both, so that an endpoint's cache of prefixes serves them. [`benchmarks.md`](benchmarks.md#judges) has more rows.
- `answer_relevancy` (three calls), `context_relevance_sentences`, `context_entity_recall` and each aspect ask for
  themselves alone. The three `facts_*_judge` share one more call for 20 facts of a row.
- What a claim is, prompts say so: a fragment ("11 years") is read as the answer to its question, the question's
  premises are no claims, what is said about sources is one, and that texts do not tell is none. What follows by
  arithmetic, from dates or by logic is supported.
- A verdict "supported" counts only with the number of a context that exists. Where verdicts are missing the value is
  null, and the details have its bounds `low` and `high`. A reply that does not fit is asked for once more, with the
  schema as text. Odd writing is no misfit: prose, a code fence or thoughts around the object, keys that were not asked
  for, `"1"` and `1.0` for 1, null for an empty list, `"Supported"` for S.
- With `reasons` (`JudgeSettings`, or `evaluator.judges.<name>.reasons`) the judge says up to 12 words before each
  verdict, a quote or what is missing, which the details have. Whether it judges better so, your labels show. For the
  row above that is 20 and 40 tokens more in the prompts, 8 and 16 in the schemas, and 96 and 192 in the replies of 293
  and 318.
- Texts are fenced by marks that they cannot contain, the task comes last, and a reply can only be numbers, labels, the
  claims themselves and reasons. What remains: a text can still try to talk a judge into a verdict about itself.
- A version has the model's name and a digest of model, temperature, prompts, schemas and how replies are read.
- An aspect of your own, `aspect_politeness` say, is a question in `evaluator.aspects`
  ([configuration](configuration.md)), or
  `AspectCritique("politeness", "Is the answer polite?", direction="up", strictness=3)`. With `scale=(1, 10)` it is a
  grade, weighted by the probabilities of tokens if the judge has `logprobs` ([aspects](judges.md#aspects-of-your-own)).
- Several judgements share a reply, so their errors go together. How far a judge is to be trusted, labels must show.

## One number of several

`ragas_score` is the harmonic mean of a data set's means. Metrics that are only 0 or 1, or whose better end is not 1,
are left out (`left_out` names them), and a mean of 0 makes it 0. A combination is a metric of its own: the weighted
mean of metrics from 0 to 1 in each row, where those whose lower end is the better one count with 1 - value. A row that
one of its metrics cannot score is null.

```python
from evaluator.metrics import combination, ragas_score

print(round(ragas_score({"context_relevancy": 0.817, "faithfulness": 0.892, "answer_relevancy": 0.874}), 4))  # 0.8598
retrieval = combination("retrieval", {"facts_recall": 3, "facts_precision": 1})
print(compute(frame, [retrieval]).loc[0, "retrieval"])  # 0.5
```

## Forms

| ending of a name | form | metrics |
|---|---|---|
"""
_JUDGE_MATCHES = (
    "Who decides whether a chunk holds a fact (the matcher) is chosen by these endings, also in `evaluator.metrics`;",
    "there is no key `matcher`. A judge decides in `facts_recall_judge`, `facts_precision_judge` and `facts_f1_judge`,",
    "which are metrics of their own, for statements in a person's words: `evaluator: {metrics: [facts_recall_judge]}`.",
)
_DIRECTIONS = {"up": "higher is better", "down": "lower is better", "none": "no end is better"}


def page() -> str:
    """Return the text of docs/metrics.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    metrics = [metric for family in FAMILIES.values() for metric in family]
    yield _HEAD.rstrip("\n").replace("@ROLES@", _names(get_args(Role)))
    yield from _forms(metrics)
    yield from (
        "",
        "Two endings go together: `facts_recall_statement@5`.",
        "",
        *_JUDGE_MATCHES,
        "",
        "## All metrics",
        "",
    )
    yield from ("| metric | question that it answers | reads |", "|---|---|---|")
    for metric in metrics:
        yield f"| [`{metric.name}`](#{_anchor(metric.name)}) | {metric.about.asks} | {_columns(metric)} |"
    for title, family in FAMILIES.items():
        yield from ("", f"## {title}")
        for metric in family:
            yield from _section(metric)
    yield ""
    yield from section()


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w-]", "", heading.lower())


def _forms(metrics: Sequence[Metric]) -> Iterator[str]:
    cut = [metric.name for metric in metrics if "k" in options_of(metric)]
    yield f"| `@5` | only the first 5 (or any k) of what was retrieved | {_names(cut)} |"
    having: dict[Form, list[str]] = {}
    for metric in metrics:
        for forms in forms_of(metric).values():
            for form in forms:
                having.setdefault(form, []).append(metric.name)
    yield from (f"| `_{form.ending}` | {form.meaning} | {_names(names)} |" for form, names in having.items())


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _section(metric: Metric) -> Iterator[str]:
    about, name = metric.about, metric_name(metric.name)
    yield from ("", f"### {metric.name}", "", f"**{name[0].upper()}{name[1:]}.** {about.asks}", "")
    yield f"- Formula: {about.formula}"
    yield f"- Source: {about.source}"
    yield f"- Version {metric.version}; judge: {metric.judge}; reads {_columns(metric)}"
    yield f"- Range: {_range(about)}, {_DIRECTIONS[about.direction]}"
    yield from _odd_cases(about.odd_cases)
    for name, meaning in options_of(metric).items():
        yield f"- Option `{name}`: {meaning}"
    if about.disagreement:
        yield f"- Where packages disagree: {about.disagreement}"
    if about.aliases:
        yield f"- Also called {_names(about.aliases)}"
    if about.former_names:
        yield f"- Former names, with a warning: {_names(about.former_names)}"


def _range(about: Description) -> str:
    if about.binary:
        return "0 or 1"
    return f"{about.low:g} or more" if math.isinf(about.high) else f"{about.low:g} to {about.high:g}"


def _odd_cases(cases: OddCases) -> Iterator[str]:
    given = {
        "Empty answer": cases.empty_answer,
        "No contexts": cases.no_contexts,
        "Duplicate contexts": cases.duplicate_contexts,
        "No reference": cases.no_reference,
    }
    yield from (f"- {case}: {words}" for case, words in given.items() if words != NOT_READ)
    if unread := [case.lower() for case, words in given.items() if words == NOT_READ]:
        yield f"- Makes no difference, since it is not read: {', '.join(unread)}"


def _columns(metric: Metric) -> str:
    optional = "".join(f", `{column}` if it is there" for column in optional_columns(metric))
    return ", ".join(f"`{column}`" for column in metric.needs) + optional


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
