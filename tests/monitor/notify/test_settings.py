import base64
from typing import Any

import pytest
from pydantic import ValidationError

from monitor.notify.settings import WebhookSettings
from monitor.settings import MonitorSettings


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("hunter2", "begins with whsec_"),
        ("whsec_not base64!", "base64 after"),
        ("whsec_c2hvcnQ=", "at least 24 bytes, this one has 5"),
    ],
)
def test_a_bad_secret_is_refused_with_advice_and_not_shown(secret: str, said: str) -> None:
    """The error says what a secret looks like and how to make one, and does not print the one given."""
    with pytest.raises(ValidationError, match=said) as error:
        WebhookSettings.model_validate({"url": "http://localhost/", "secret": secret})
    assert "token_bytes" in str(error.value)
    assert secret not in str(error.value)


def test_a_secret_is_not_printed(secret: str) -> None:
    """Settings can be logged: the secret is starred."""
    settings = WebhookSettings.model_validate({"url": "http://localhost/", "secret": secret})
    assert secret not in repr(settings)


def test_an_address_that_is_not_http_is_refused(secret: str) -> None:
    """A webhook's url is http or https."""
    with pytest.raises(ValidationError, match="url"):
        WebhookSettings.model_validate({"url": "file:///etc/passwd", "secret": secret})


def test_several_secrets_are_each_checked(secret: str) -> None:
    """A second line is a second secret, and a bad one is refused like a first."""
    WebhookSettings.model_validate({"url": "http://localhost/", "secret": f"{secret}\n{secret}"})
    with pytest.raises(ValidationError, match="begins with whsec_"):
        WebhookSettings.model_validate({"url": "http://localhost/", "secret": f"{secret}\nhunter2"})


def test_plain_http_is_for_hosts_that_are_named(secret: str) -> None:
    """A message goes over the open network encrypted or not at all; the error says which setting to write."""
    webhook = {"url": "http://hooks.example/", "secret": secret}
    with pytest.raises(ValidationError, match=r"name hooks.example in monitor.internal_hosts"):
        MonitorSettings.model_validate({"webhooks": [webhook]})
    MonitorSettings.model_validate({"webhooks": [webhook], "internal_hosts": ["hooks.example"]})


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("http://hooks.example/", "hooks.example"),
        ("http://hooks.example:8080/", "Hooks.Example:8080"),
        ("http://[::1]:8080/", ["[::1]"]),
    ],
)
def test_internal_hosts_are_written_like_all_other_hosts(secret: str, url: str, hosts: Any) -> None:
    """One host needs no list, a port and the case of letters do not matter, and an IPv6 address may be in brackets."""
    MonitorSettings.model_validate({"webhooks": [{"url": url, "secret": secret}], "internal_hosts": hosts})
    with pytest.raises(ValidationError, match=r"write its host alone"):
        MonitorSettings.model_validate({"internal_hosts": url})


def test_a_secret_that_is_empty_is_refused_and_blanks_around_one_are_not(secret: str) -> None:
    """An empty file is a slip; the end of a line is none. Twenty-four bytes are enough."""
    least = "whsec_" + base64.b64encode(b"k" * 24).decode()
    for given in (f" {secret} \r\n{least}\n", least):
        assert WebhookSettings.model_validate({"url": "https://a.example", "secret": given}).secret is not None
    for given in ("", "\n", "whsec_" + base64.b64encode(b"k" * 23).decode()):
        with pytest.raises(ValueError, match="a webhook secret "):
            WebhookSettings.model_validate({"url": "https://a.example", "secret": given})
