"""An evaluator that scores conversations, pass after pass, and the judge that it asks."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from evaluator.service.passes import Evaluator
from tests.evaluator.conftest import NOON, Traffic
from tests.evaluator.judged import settings
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, says

MINUTE = timedelta(minutes=1)
METRICS = ["conversation_completeness", "knowledge_retention", "repetition"]
_MARK = re.compile(r"^<assistant (\d+) ", re.MULTILINE)


async def judges(request: Request, send: Send) -> None:
    """Each intent is met, nothing was forgotten, and the last turn repeats."""
    numbers = [int(number) for number in _MARK.findall(prompt(request))]
    turns = [{"turn": one, "forgot": False, "repeats": one == max(numbers)} for one in numbers]
    await says(json.dumps({"intents": [{"intent": "It", "met": True}], "turns": turns}))(request, send)


def prompt(request: Request) -> str:
    return str(request.body["messages"][1]["content"])


class Service:
    """An evaluator that lives on while its clock is moved."""

    def __init__(self, traffic: Traffic, judge: ScriptedServer, folder: Path, **changes: Any) -> None:
        self.now = NOON
        self.judge = judge
        self.traffic = traffic
        self.folder = folder
        self.evaluator = self.begun(**changes)

    def begun(self, **changes: Any) -> Evaluator:
        chosen = settings(self.judge.url, self.folder, **({"metrics": METRICS} | changes))
        return Evaluator(self.traffic.lake, chosen, lambda: self.now)

    def restart(self, **changes: Any) -> None:
        self.evaluator.close()
        self.evaluator = self.begun(**changes)

    def at(self, *minutes: int) -> dict[str, Any]:
        """Pass after pass; the scores of repetition after them, by the answer that a conversation ended with."""
        for minute in minutes:
            self.now = NOON + minute * MINUTE
            assert self.evaluator.run_once().failures == ()
        return self.traffic.values("repetition")

    def calls(self) -> int:
        return len(self.judge.requests)
