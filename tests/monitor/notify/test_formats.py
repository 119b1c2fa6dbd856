import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alert_change import AlertChange
from monitor.notify import WebhookSettings
from monitor.notify.formats import written
from monitor.regression import StreamKey, Verdict
from tests.monitor.notify.test_group import change

URL = "https://hooks.example/abc"


def message(changes: list[AlertChange], form: str, external_url: str = "https://watch.example/") -> Any:
    settings = WebhookSettings.model_validate({"url": URL, "format": form})
    return json.loads(written(changes, settings, external_url))


def test_slack_gets_a_headline_and_the_words(firing: AlertChange) -> None:
    """A header block, a section with the description, and a text for the notification."""
    body = message([firing], "slack")
    header, section = body["blocks"]
    assert header["type"] == "header"
    assert header["text"]["text"].startswith(":red_circle: faithfulness_kprecision of apps/rag fell from 0.80 to 0.41")
    assert section["text"]["type"] == "mrkdwn"
    assert "Look at: https://watch.example/" in section["text"]["text"]
    assert body["text"] == "faithfulness_kprecision of apps/rag fell from 0.80 to 0.41 since 2026-11-20 09:30 UTC"
    (over, _) = message([replace(firing, change="resolved")], "slack")["blocks"]
    assert over["text"]["text"].startswith(":large_green_circle: ")


def test_a_name_cannot_call_all_of_a_slack_channel(firing: AlertChange) -> None:
    """Slack's commands in angle brackets, in a deployment's name, are shown as they are."""
    key = StreamKey("<!channel> & <https://evil.example|here>", "m", "1")
    body = json.dumps(message([replace(firing, key=key)], "slack")["blocks"][1])
    assert "&lt;!channel&gt; &amp; &lt;https" in body
    assert "<!channel>" not in body


def test_teams_gets_an_adaptive_card_with_a_button(firing: AlertChange) -> None:
    """What a Teams workflow posts: headline, a block a line, underscores as they are, and a link to the page."""
    body = message([firing], "teams")
    (attachment,) = body["attachments"]
    card = attachment["content"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    headline, what, *_ = card["body"]
    assert headline["text"].startswith("faithfulness\\_kprecision of apps/rag fell")
    assert headline["color"] == "attention"
    assert what["text"].startswith("What: the mean of faithfulness\\_kprecision")
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open dialwatch", "url": "https://watch.example/deployment?name=apps/rag"},
    ]
    assert "actions" not in message([firing], "teams", "")["attachments"][0]["content"]


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_several_metrics_are_one_message_with_a_part_each(firing: AlertChange, form: str) -> None:
    """The headline counts them, and each has its own summary and words."""
    changes = [replace(firing, key=replace(firing.key, metric=f"metric{n}")) for n in range(3)]
    text = json.dumps(message(changes, form), ensure_ascii=False)
    assert "apps/rag: 3 metrics got worse" in text
    assert all(f"metric{n} of apps/rag fell from 0.80 to 0.41" in text for n in range(3))


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        (("judge", "judge"), "the judge of 2 metrics changed, not the application"),
        (("judge", "system"), "2 metrics got worse, 1 of them by a changed judge alone"),
        (("undecided", "both"), "2 metrics got worse"),
    ],
)
def test_a_headline_says_what_the_verdicts_say(
    firing: AlertChange, verdicts: tuple[Verdict, ...], headline: str
) -> None:
    """Where all that changed is the judge, no metric got worse."""
    changes = [replace(firing, verdict=verdict) for verdict in verdicts]
    assert message(changes, "slack")["text"] == f"apps/rag: {headline}"


def test_an_end_without_a_recovery_is_no_good_news(firing: AlertChange) -> None:
    """What is no longer watched is told so, and not in green; what is back is."""
    back = replace(firing, change="resolved")
    gone = replace(back, current_mean=None, reason="no longer watched")
    assert message([back, back], "slack")["text"] == "apps/rag: 2 metrics are well again"
    assert message([back, gone], "slack")["text"] == "apps/rag: 2 alerts are over, 1 of them without a recovery"
    header, section = message([gone], "slack")["blocks"]
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
