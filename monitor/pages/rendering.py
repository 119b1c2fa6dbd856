"""Rendering of the templates: each page gets who reads it, and a policy for browsers that fits what is on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, Tier
from lake.spec.case_vocabulary import FAILED_PART_MEANING, CaseStatus, ReferenceMatch
from lake.spec.schemas import UNASSIGNED
from lake.spec.vocabulary import FailureKind, Signal
from monitor.access.authentication import Authentication, ByToken
from monitor.access.reader import Reader
from monitor.notify.digest.words import amount
from monitor.notify.texts.link import answer_page, incident_page, page_of, response_page, worst_since
from monitor.notify.texts.onset import OnsetWords
from monitor.pages.filters import FILTERS
from monitor.pages.json_answers import asks_for_json, error_answer
from monitor.pages.texts import searched, shown
from monitor.pages.times import IN_UTC, Times
from runtime.unseen_characters import visible

# Names on the pages come from URLs that any client can write: nothing from elsewhere may load or run.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
STATIC = Path(__file__).parent / "static"
"""Folder of what the pages load."""
_FORM, _SCRIPT = "<form", "<script"
"""What a client wrote is escaped, so that these stand in a page with a form or the script of ours alone."""


def reader_of(request: Request) -> Reader:
    """Return who asks; for what needs no access that may be nobody."""
    reader: Reader | None = request.scope.get("dialwatch.reader")
    return reader or Reader()


class Renderer:
    """Gives the HTML of a template to who asks."""

    def __init__(
        self, authentication: Authentication, times: Times = IN_UTC, currency: str = "", *, with_metrics: bool = True
    ) -> None:
        """`currency` is the word behind amounts; `with_metrics`: `/metrics` is at the address of the pages."""
        self.times = times
        self.currency = currency
        self._authentication = authentication
        self._templates = templates(times=times)
        self._templates.globals["with_metrics"] = with_metrics
        self._templates.filters["money"] = lambda value: _unbroken(amount(value, currency))

    def page(
        self,
        request: Request,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """Return a page. Templates have `reader` and, for hidden fields `form_token` of their forms, `form_token`."""
        reader, authentication = reader_of(request), self._authentication
        form_token = "" if reader.session is None else authentication.forms.token_of(reader.session)
        may_sign_out = bool(form_token) and isinstance(authentication, ByToken)
        text = self._templates.get_template(template).render(
            reader=reader, form_token=form_token, may_sign_out=may_sign_out, **values
        )
        policy = POLICY.replace("form-action 'none'", "form-action 'self'") if _FORM in text else POLICY
        if _SCRIPT in text:
            policy += "; script-src 'self'"
        # After a sign-out nobody must find the page in the browser's cache.
        kept = {"Cache-Control": "no-store"} if reader.who is not None else {}
        return HTMLResponse(text, status, {"Content-Security-Policy": policy} | kept | dict(headers or {}))

    def error(self, request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        """Say what is wrong: on a page, and where JSON was asked for as JSON."""
        if asks_for_json(request):
            return error_answer(status, message, headers)
        return self.page(request, "error_page.html", status, headers, message=message, back=_page_before(request))


def _unbroken(amount: str) -> Markup:
    """Return an amount of money that no line breaks, neither before its currency nor within it."""
    return Markup('<span class="money">{}</span>').format(amount.replace(" ", "\N{NO-BREAK SPACE}"))


def _page_before(request: Request) -> str:
    """Return the address of the page of ours that led here, as browsers say it; empty where there is none."""
    try:
        before = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return ""
    is_ours = before.netloc == request.headers.get("host") and before.path.startswith("/") and before.path[:2] != "//"
    here = request.url.path, request.url.query
    if not is_ours or before.scheme not in ("http", "https") or (before.path, before.query) == here:
        return ""
    return before.path + (f"?{before.query}" if before.query else "")


def style_sheet() -> str:
    """Return the style of the pages, for one that stands by itself in a file."""
    return "\n".join((STATIC / name).read_text("utf-8") for name in ("dialwatch.css", "print.css"))


def templates(*own: BaseLoader, times: Times = IN_UTC) -> Environment:
    """Return the environment of all templates, with the filters of the pages; `own` have those of a report."""
    made = Environment(
        loader=ChoiceLoader([*own, PackageLoader("monitor.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    links = {
        "page_of": page_of,
        "incident_page": incident_page,
        "response_page": response_page,
        "answer_page": answer_page,
        "worst_since": worst_since,
        "onset": OnsetWords(times.moment, times.day).onset,
        "brief_onset": OnsetWords(times.brief_moment, times.day).brief_onset,
    }
    texts = {"shown": shown, "searched": searched, "visible": visible}
    made.filters.update(FILTERS | dict(times.filters) | links | texts)
    words: Sequence[type[StrEnum]] = (
        AlertEvent,
        AlertVerdict,
        AnswerLabel,
        AnswerRating,
        AnswerStatus,
        CaseStatus,
        FailureKind,
        ReferenceMatch,
        Signal,
        Tier,
    )
    made.globals.update({one.__name__: one for one in words})
    made.globals.update(FAILED_PART_MEANING=FAILED_PART_MEANING, UNASSIGNED=UNASSIGNED, times=times)
    return made
