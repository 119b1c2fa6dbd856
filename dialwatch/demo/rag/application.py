"""The application as DIAL calls it: chat completions with stages and attachments, as DIAL RAG has them."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from aidial_sdk import DIALApp, HTTPException
from aidial_sdk.chat_completion import Attachment, ChatCompletion, Choice, Message, Request, Response, Role, Stage

from dialwatch.demo.completion import token_count
from dialwatch.demo.questions import load_questions
from dialwatch.demo.rag.assistant import RagAssistant
from dialwatch.demo.rag.faults import Faults
from dialwatch.demo.rag.passages import Passage, passages_of

DEPLOYMENT = "rag-app"
_DOCUMENTS = tuple(f"files/public/articles-{number}.pdf" for number in (1, 2, 3))


class RagChatCompletion(ChatCompletion):
    """Chat completions of one deployment; it reads the last question alone, not the conversation before it.

    `clock` is in epoch seconds and gives the time of the answer and how long a stage took, `new_id` a response id.
    """

    def __init__(self, assistant: RagAssistant, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._assistant = assistant
        self._clock = clock
        self._new_id = new_id

    async def chat_completion(self, request: Request, response: Response) -> None:
        """Answer the last message: stages as the search goes, the text in pieces, then what it cites."""
        question = _question(request.messages)
        response.set_response_id(self._new_id())
        response.set_created(int(self._clock()))
        with response.create_single_choice() as choice:
            found = self._search(choice, question)
            extract = self._assistant.extract(question, found)
            for piece in _pieces(extract.text):
                choice.append_content(piece)
            for number, place in enumerate(dict.fromkeys(extract.cited), start=1):
                choice.add_attachment(_attachment(found[place], f"[{number}] {found[place].name}"))
        prompt = sum(token_count(text) for text in (question, *(passage.text for passage in found)))
        response.set_usage(prompt_tokens=prompt, completion_tokens=token_count(extract.text))

    def _search(self, choice: Choice, question: str) -> Sequence[Passage]:
        began = self._clock()
        with choice.create_stage("Combined search") as combined:
            # DIAL RAG opens the searches inside after the one that waits for them, as siblings.
            with choice.create_stage("Keywords search") as keywords:
                found = self._assistant.search(question)
                _show(keywords, found.candidates, self._clock() - began)
            _show(combined, found.retrieved, self._clock() - began)
        return found.retrieved


def create_app(
    assistants: Mapping[str, RagAssistant] | None = None,
    clock: Callable[[], float] = time.time,
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
) -> DIALApp:
    """Return the application for these deployments, or for `rag-app` over all shipped texts.

    `GET` and `PUT /faults/<deployment>` read and set what is broken in one.
    """
    served = {DEPLOYMENT: RagAssistant(shipped_passages())} if assistants is None else dict(assistants)
    app = DIALApp(add_healthcheck=True)
    for deployment, assistant in served.items():
        app.add_chat_completion(deployment, RagChatCompletion(assistant, clock, new_id))

    def assistant_of(deployment: str) -> RagAssistant:
        if deployment not in served:
            raise HTTPException(f"there is no deployment {deployment!r}; there are: {', '.join(served)}", 404)
        return served[deployment]

    @app.get("/faults/{deployment:path}")
    def read_faults(deployment: str) -> Faults:
        return assistant_of(deployment).faults

    @app.put("/faults/{deployment:path}")
    def set_faults(deployment: str, faults: Faults) -> Faults:
        assistant_of(deployment).faults = faults
        return faults

    return app


def shipped_passages() -> tuple[Passage, ...]:
    """Return the passages of all shipped texts."""
    return passages_of([question.knowledge for question in load_questions()], _DOCUMENTS)


def _question(messages: Sequence[Message]) -> str:
    last = messages[-1] if messages else None
    if last is None or last.role != Role.USER or not last.text().strip():
        raise HTTPException("the last message must be a question of the user, as text", 400, "invalid_request_error")
    return last.text()


def _show(stage: Stage, found: Sequence[Passage], seconds: float) -> None:
    for passage in found:
        stage.add_attachment(_attachment(passage, f"[{passage.document}.{passage.chunk}] '{passage.name}'"))
    stage.append_name(f" [{seconds:.2f}s]")


def _attachment(passage: Passage, title: str) -> Attachment:
    return Attachment(
        type="text/markdown",
        title=title,
        data=passage.text,
        reference_url=passage.reference,
        reference_type="application/pdf",
    )


def _pieces(text: str) -> list[str]:
    """Cut a text after each few words, as a stream of a model does."""
    return re.findall(r"(?:\S+\s*){1,8}", text)
