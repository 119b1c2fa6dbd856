"""Section on verdicts of docs/metrics.md, made from the functions' docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evaluator.metrics.llm import verdicts

TOPICS = ("Gives", "Formula", "Source", "On nothing", "Missing verdicts", "Packages")
"""What a docstring says in paragraphs of their own, each begun by the topic and a colon."""

_LABELS = {"Packages": "Where packages disagree"}
_HEAD = """\
## Arithmetic of verdicts

What a judge's verdicts come to, whoever gave them: `evaluator.metrics.llm.verdicts` calls no model. A verdict is True,
False, `UNDECIDED`, or None where the judge gave none, and 1 and 0 are read as True and False. The result is a `Judged`
with `value`, `reason`, `low` and `high`. Where missing verdicts matter, `value` is None with `judge_failed`, and `low`
and `high` are its bounds whatever those verdicts are. Where there is nothing to judge, all three are None, and
`reason` is `no_claims`, `no_contexts`, `no_entities`, `nothing_answered`, `nothing_allowed`, `no_intents`,
`zero_vector` or `tie`. A reason beside a value is a remark.

```python
from evaluator.metrics.llm.verdicts import supported_share

print(supported_share([True, False, True, False]).value)  # 0.5
open_verdict = supported_share([True, True, None, False])
print(open_verdict.value, open_verdict.low, open_verdict.high)  # None 0.5 0.75
```

| function | what it gives |
|---|---|
"""


def functions() -> Mapping[str, Callable[..., Any]]:
    """Return the public functions of `evaluator.metrics.llm.verdicts` whose docstrings have a formula, by name."""
    public = {name: getattr(verdicts, name) for name in verdicts.__all__}
    return {name: found for name, found in public.items() if inspect.isfunction(found) and "Formula:" in _doc(found)}


def section() -> Iterator[str]:
    """Yield the lines of the section."""
    yield from _HEAD.rstrip("\n").split("\n")
    for name, function in functions().items():
        yield f"| [`{name}`](#{name}) | {_doc(function).splitlines()[0]} |"
    for name, function in functions().items():
        yield from ("", f"### {name}", "", _doc(function).splitlines()[0], "", f"- Call: `{_call(name, function)}`")
        for topic, words in topics_of(function).items():
            yield f"- {_LABELS.get(topic, topic)}: {words}"


def topics_of(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return what a function's docstring says of each topic."""
    paragraph = re.compile(rf"^({'|'.join(TOPICS)}): (.*(?:\n    .*)*)", re.MULTILINE)
    return {topic: re.sub(r"\s+", " ", words) for topic, words in paragraph.findall(_doc(function))}


def _call(name: str, function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return f"{name}{found.replace(parameters=bare, return_annotation=inspect.Signature.empty)}"


def _doc(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
