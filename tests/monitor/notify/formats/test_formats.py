import html
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace as replace_fields

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertVerdict
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import SegmentChange, StreamKey
from monitor.notify.formats import FORMATS
from monitor.notify.formats.daily_summary import SUMMARY_FORMATS
from monitor.notify.formats.mail import alert_mail
from monitor.notify.formats.standard import alert_of
from monitor.notify.settings import WebhookSettings
from monitor.notify.texts.incident import IncidentNote
from monitor.notify.texts.link import link_to_incident
from tests.monitor.notify.conftest import SECRET
from tests.monitor.notify.test_messages import change

URL = "https://hooks.example/abc"


def message(changes: list[AlertChange], form: str, external_url: str = "https://watch.example/") -> Any:
    settings = WebhookSettings.model_validate({"url": URL, "format": form, "secret": SECRET})
    return json.loads(FORMATS[settings.format](changes, settings.name, external_url))


def test_slack_gets_a_headline_and_the_words(firing: AlertChange) -> None:
    """A header block, a section with the description, a link to the page, and a text for the notification."""
    body = message([firing], "slack")
    header, section, link = body["blocks"]
    assert header["type"] == "header"
    assert header["text"]["text"].startswith(
        ":red_circle: apps/rag: “answer words found in the documents” fell from 0.80 to 0.41"
    )
    assert "Look at: https://watch.example/" in section["text"]["text"]
    page = "<https://watch.example/deployment?name=apps/rag|Open dialwatch>"
    assert link["text"] == {"type": "mrkdwn", "text": page, "verbatim": True}
    assert (
        body["text"]
        == "apps/rag: “answer words found in the documents” fell from 0.80 to 0.41 since 2026-11-20 09:30 UTC"
    )
    over, _ = message([replace(firing, change="resolved")], "slack", "")["blocks"]
    assert over["text"]["text"].startswith(":large_green_circle: ")


@pytest.mark.parametrize("of_incident", [True, False])
def test_the_button_of_a_message_leads_to_the_incident(firing: AlertChange, of_incident: bool) -> None:
    """Or, of an alert that is part of none, to its deployment."""
    there = "https://watch.example/"
    page = link_to_incident("abc", there) if of_incident else "https://watch.example/deployment?name=apps/rag"
    note = IncidentNote("abc", "firing", "page", None, (), link_to_incident("abc", there)) if of_incident else None
    slack = json.loads(FORMATS["slack"]([firing], "r", there, note))
    assert slack["blocks"][-1]["text"]["text"] == f"<{page}|Open dialwatch>"
    teams = json.loads(FORMATS["teams"]([firing], "r", there, note))
    assert teams["attachments"][0]["content"]["actions"][0]["url"] == page
    assert f'href="{html.escape(page)}"' in alert_mail([firing], there, note).html


@given(st.text("*_~`<!>|&@#:a \n[]()", max_size=60))
def test_no_name_is_markup_in_slack(name: str) -> None:
    """Nothing of a name is bold, code, a link, a mention or an emoji: it stands in plain text, or in a query."""
    body = message([replace(change(1, 0), key=StreamKey(f"{name}<!channel>", f"*{name}*", "1"))], "slack")
    header, section, link = (block["text"] for block in body["blocks"])
    assert (header["type"], section["type"], section["emoji"]) == ("plain_text", "plain_text", False)
    assert "deployment " + f"{name}<!channel>".replace("\n", " ") in section["text"]
    assert (link["type"], link["verbatim"]) == ("mrkdwn", True)
    assert re.fullmatch(r"<https://watch\.example/deployment\?name=[\w.%+/~-]*\|Open dialwatch>", link["text"])
    assert body["mrkdwn"] is False
    assert "<" not in body["text"]


@given(st.text("-+1.*_~`<!>|&{}[]()#a ", max_size=30))
def test_no_name_is_markup_in_teams(name: str) -> None:
    """A reader of Markdown gives back what the name is, with nothing bold, linked or listed."""
    changes = [replace(change(n, 0), key=StreamKey(name, f"m{n}", "1")) for n in range(2)]
    headline, *_ = message(changes, "teams")["attachments"][0]["content"]["body"]
    (paragraph,) = (text.strip().splitlines() for text in [as_html(headline["text"])])
    shown = html.unescape(paragraph[0].removeprefix("<p>").removesuffix("</p>"))
    assert " ".join(shown.split()) == " ".join(
        f"{name}: “m0” fell from unknown to unknown since an unknown time. 1 more metric got worse".split()
    )


def as_html(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"]).render(text))


BREAKS = ["\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
TURNS = ["\u061c", "\u200e", "\u200f", "\u202e", "\u2067"]
"""Marks after which, or around which, text is shown in another direction."""


@pytest.mark.parametrize("form", ["standard", "slack", "teams", "alertmanager"])
@given(data=st.data())
def test_no_name_and_no_reason_begins_a_line(form: str, data: st.DataObject) -> None:
    """Deployments, metrics, versions, segments, ids and reasons with breaks add no line, to whatever receiver.

    That holds for the labels, which templates of receivers write into texts of their own.
    """
    forged = data.draw(st.sampled_from(BREAKS)) + "All is well: over."
    plain, names = message_texts("x", form), message_texts(f"x{forged}", form)
    assert [len(text.splitlines()) for text in names] == [len(text.splitlines()) for text in plain]
    assert sum("All is well: over." in text for text in names) > 1
    assert not any(line.startswith("All is well") for text in names for line in text.splitlines())


@pytest.mark.parametrize("form", ["standard", "slack", "teams", "alertmanager"])
@pytest.mark.parametrize("mark", TURNS)
def test_no_name_turns_the_direction_of_a_message(form: str, mark: str) -> None:
    """Marks of direction in names are blanks in every text and label, so that a message reads as it is written."""
    texts = message_texts(f"x{mark}y", form)
    assert any("x y" in text for text in texts)
    assert not any(mark in text for text in texts)


def message_texts(name: str, form: str) -> list[str]:
    """Every text of messages about alerts whose names and reasons are all this, which a person reads line by line."""
    one = change(1, 0)
    part = SegmentChange(name, 0.2, 0.25, 0.6, 0.2)
    details = AlertDetails(worst=(WorstAnswer(name, 0.0),), segments=(part,), most_worsened=part, within=0.1, mix=0.1)
    kind = AlertDetails(exceeded=LimitDetails(0.7, 0.3, 0.15, requests=9, window_seconds=60, mostly=name))
    fires = replace(one, key=StreamKey(name, name, name), details=details, reason=name)
    fires = replace(fires, details=replace_fields(details, fired_at=fires.changed_at - timedelta(hours=1)))
    changes = [
        fires,
        replace(fires, change="resolved", current_mean=None),
        replace(fires, key=StreamKey(name, "errors", LIMIT_VERSION), details=kind),
        replace(fires, key=StreamKey(name, "no_data", LIMIT_VERSION), change="resolved", details=kind),
    ]
    texts = []
    for group in [*([one] for one in changes), [fires, fires]]:
        if form == "alertmanager":
            alerts = [alert_of(one, "") for one in group]
            texts += [text for one in alerts for text in (*one.annotations.values(), *one.labels.values())]
            continue
        body = message(group, form)
        if form == "standard":
            named = [body["groupLabels"], body["commonLabels"], body["commonAnnotations"]]
            named += [alert[names] for alert in body["alerts"] for names in ("annotations", "labels")]
            texts += [body["groupKey"], *(text for names in named for text in names.values())]
        elif form == "slack":
            texts += [body["text"], *(block["text"]["text"] for block in body["blocks"])]
        else:
            texts += [block["text"] for block in body["attachments"][0]["content"]["body"]]
    return texts


def test_teams_gets_an_adaptive_card_with_a_button(firing: AlertChange) -> None:
    """What a Teams workflow posts: headline, a block a line, underscores as they are, and a link to the page."""
    body = message([firing], "teams")
    (attachment,) = body["attachments"]
    card = attachment["content"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    headline, what, *_ = card["body"]
    assert headline["text"].startswith("apps/rag: “answer words found in the documents” fell")
    assert headline["color"] == "attention"
    assert what["text"].startswith("What: the mean of “answer words found in the documents”")
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open dialwatch", "url": "https://watch.example/deployment?name=apps/rag"},
    ]
    assert "actions" not in message([firing], "teams", "")["attachments"][0]["content"]


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_several_metrics_are_one_message_with_a_part_each(firing: AlertChange, form: str) -> None:
    """The headline is of the first and counts the others, and each has its own summary and words."""
    changes = [replace(firing, key=replace(firing.key, metric=f"metric{n}")) for n in range(3)]
    text = json.dumps(message(changes, form), ensure_ascii=False)
    assert "apps/rag: “metric0” fell from 0.80 to 0.41 since 2026-11-20 09:30 UTC. 2 more metrics got worse" in text
    assert all(f"apps/rag: “metric{n}” fell from 0.80 to 0.41" in text for n in range(3))


FELL = "“answer words found in the documents” fell from 0.80 to 0.41 since 2026-11-20 09:30 UTC"
MORE = "1 more metric got worse"


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        (("judge", "judge"), "the judge of 2 metrics changed, not the application"),
        (
            ("judge", "system"),
            f"{FELL}: the judge changed, not the application. {MORE}, 1 of all by a changed judge alone",
        ),
        (("undecided", "both"), f"{FELL}. {MORE}"),
    ],
)
def test_a_headline_says_what_the_verdicts_say(
    firing: AlertChange, verdicts: tuple[AlertVerdict, ...], headline: str
) -> None:
    """Where all that changed is the judge, no metric got worse."""
    changes = [replace(firing, verdict=verdict) for verdict in verdicts]
    assert message(changes, "slack")["text"] == f"apps/rag: {headline}"


def test_an_end_without_a_recovery_is_no_good_news(firing: AlertChange) -> None:
    """What is no longer watched is described so, and not in green; what is back is."""
    back = replace(firing, change="resolved")
    gone = replace(back, current_mean=None, reason="no longer watched")
    assert message([back, back], "slack")["text"] == "apps/rag: 2 metrics are well again"
    assert message([back, gone], "slack")["text"] == "apps/rag: 2 alerts are over, 1 of them without a recovery"
    header, section = message([gone], "slack", "")["blocks"]
    assert header["text"]["text"].startswith(":white_circle: ")
    assert "Why: no longer watched." in section["text"]["text"]
    colours = [message([one], "teams")["attachments"][0]["content"]["body"][0]["color"] for one in (firing, back, gone)]
    assert colours == ["attention", "good", "default"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=5000), st.integers(1, 60))
def test_no_message_is_longer_than_the_receiver_takes(name: str, number: int) -> None:
    """Whatever the deployment is called and however many metrics fall, Slack's and Teams' limits are kept."""
    changes = [replace(change(n, 0), key=StreamKey(name, f"m{n}", "1")) for n in range(number)]
    slack = message(changes, "slack")
    assert len(slack["blocks"]) <= 50
    assert all(0 < len(block["text"]["text"]) <= (150 if n == 0 else 3000) for n, block in enumerate(slack["blocks"]))
    assert len(json.dumps(message(changes, "teams"), ensure_ascii=False).encode()) < 28_000


def test_without_a_secret_only_the_ready_made_formats_are_accepted() -> None:
    """A Slack url is a secret itself; our own messages are signed or not sent."""
    with pytest.raises(ValueError, match="has no secret to sign with"):
        WebhookSettings.model_validate({"url": URL})
    assert WebhookSettings.model_validate({"url": URL, "format": "teams"}).secret is None


def test_each_format_of_messages_has_one_of_summaries() -> None:
    assert SUMMARY_FORMATS.keys() == FORMATS.keys()
    for form in ("slack", "teams"):
        assert "https://watch.example/incidents" in SUMMARY_FORMATS[form]([], "team", "https://watch.example/").decode()
