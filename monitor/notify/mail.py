"""One attempt to hand a mail to an SMTP server: over TLS, with a log-in, and for a limited time."""

from __future__ import annotations

import base64
import contextlib
import logging
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP

import httpx

from lake.store.store_errors import log_failure
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.formats.mail import Mail
from monitor.notify.network import checked_addresses
from monitor.notify.settings import MailSettings

SECONDS = 30.0
"""For a whole exchange: servers that look for spam take their time."""
_SHOWN_CHARACTERS = 200
_PLAIN_SUBJECT = "[dialwatch] a message"
_ADVICE = {
    454: "TLS is not available: ask who runs the server",
    530: "the server wants a log-in, or TLS before it: check monitor.mail.user and security",
    534: "the server does not take this kind of log-in: it may want a password for applications",
    535: "the log-in is refused: check monitor.mail.user and password_file",
    550: "the server does not take this sender or address: check monitor.mail.sender and the receiver's `to`",
    552: "the mail is too large for the server",
    553: "the server does not take this sender or address: check monitor.mail.sender and the receiver's `to`",
    554: "the server refuses the mail: ask who runs it",
}
logger = logging.getLogger(__name__)


class MailServer:
    """The SMTP server of the settings; every mail has a connection of its own. Safe for use by several threads."""

    def __init__(self, settings: MailSettings, internal_hosts: Collection[str] = (), seconds: float = SECONDS) -> None:
        """`internal_hosts` may be at private addresses; an exchange ends after `seconds` in any case."""
        self._settings = settings
        self._internal_hosts = frozenset(host.lower() for host in internal_hosts)
        self._seconds = seconds
        self._context = httpx.create_ssl_context()

    def send(self, mail: Mail, to: Sequence[str], message_id: str, now: datetime) -> Attempt:
        """Hand over a mail once, for all addresses in `to`; never raises for what a network or server does.

        It is delivered where the server took it for at least one address: to try again would send it twice to that.
        """
        message = _message(mail, self._settings.sender, to, message_id, now)

        def hand_over(server: smtplib.SMTP) -> str:
            refused = server.send_message(message, self._settings.sender, list(to))
            words = [f"{address}: {_said(*answer)}" for address, answer in refused.items()]
            return f"accepted by {self._settings.server}" + (f", but not for {'; '.join(words)}" if words else "")

        return self._attempt(hand_over)

    def try_out(self) -> Attempt:
        """Greet the server and log in, without a mail."""
        words = f"answers{' and takes the log-in' if self._settings.user else ''}"
        return self._attempt(lambda _: words)

    def _attempt(self, use: Callable[[smtplib.SMTP], str]) -> Attempt:
        ended = threading.Event()
        try:
            with self._connected(ended) as server:
                reason = use(server)
                # The server has the mail: how it says goodbye changes nothing.
                with contextlib.suppress(smtplib.SMTPException, OSError):
                    server.quit()
                return Attempt(DeliveryOutcome.DELIVERED, reason)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            is_late = ended.is_set() or isinstance(error, TimeoutError)
            reason = f"no answer within {self._seconds:g} s" if is_late else _reason(error)
            return Attempt(DeliveryOutcome.FAILED, reason)

    @contextmanager
    def _connected(self, ended: threading.Event) -> Iterator[smtplib.SMTP]:
        """Yield a server that has been greeted and logged in to; `ended` is set where its time is over."""
        settings = self._settings
        server = _Connection(settings, self._internal_hosts, self._context, self._seconds, ended)
        timer = threading.Timer(self._seconds, server.end)
        timer.daemon = True
        timer.start()
        try:
            code, greeting = server.connect(settings.server, settings.port_number)
            if code != 220:
                raise smtplib.SMTPConnectError(code, greeting)
            if settings.security == "starttls":
                server.starttls(context=self._context)
            if settings.user is not None and settings.password is not None:
                _log_in(server, settings.user, settings.password.get_secret_value())
            yield server
        finally:
            timer.cancel()
            server.close()


class _Connection(smtplib.SMTP):
    """A connection to an address that was checked, which another thread can end."""

    def __init__(
        self,
        settings: MailSettings,
        internal_hosts: Collection[str],
        context: ssl.SSLContext,
        seconds: float,
        ended: threading.Event,
    ) -> None:
        # smtplib's own way to a name asks the DNS, which may take longer than the whole exchange has.
        name = socket.gethostname()
        super().__init__(local_hostname=name if "." in name else "[127.0.0.1]", timeout=seconds)
        self._ends_at = time.monotonic() + seconds
        self._ended = ended
        self._host = settings.server  # whose certificate is expected after STARTTLS
        self._internal_hosts = internal_hosts
        self._context = context if settings.security == "tls" else None
        self._plain: socket.socket | None = None

    def end(self) -> None:
        """End the connection, whatever it waits for; one that is not made yet is given up once it is."""
        self._ended.set()
        if self._plain is not None:
            with contextlib.suppress(OSError):
                self._plain.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        super().close()
        if self._plain is not None:
            self._plain.close()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002 - what is left of it
        failure: OSError = OSError(f"{host} has no address")
        for address in checked_addresses(host, port, self._internal_hosts):
            left = self._ends_at - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                connected = socket.create_connection((address, port), left)
            except OSError as error:
                failure = error
                continue
            # TLS takes the socket over: a second handle of the same connection is what can be ended at any time.
            self._plain = connected.dup()
            # Who ends it looks for that handle after `ended` is set: one of both sees the other.
            if self._ended.is_set():
                connected.close()
                raise TimeoutError
            return self._context.wrap_socket(connected, server_hostname=host) if self._context else connected
        raise failure


def _log_in(server: smtplib.SMTP, user: str, password: str) -> None:
    if (user + password).isascii():
        server.login(user, password)
        return
    # smtplib takes no other letters, which this way of a log-in has in UTF-8 (RFC 4616).
    server.ehlo_or_helo_if_needed()
    words = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
    code, answer = server.docmd("AUTH", f"PLAIN {words}")
    if code != 235:
        raise smtplib.SMTPAuthenticationError(code, answer)


def _message(mail: Mail, sender: str, to: Sequence[str], message_id: str, now: datetime) -> EmailMessage:
    """Return the message; under a plain subject where its own cannot be written, which no later attempt would mend."""
    try:
        message = _formed(mail, sender, to, message_id, now)
        message.as_bytes()
    except Exception as error:
        log_failure(logger, error, "A mail is sent without its subject, which cannot be written")
        return _formed(replace(mail, subject=_PLAIN_SUBJECT), sender, to, message_id, now)
    return message


def _formed(mail: Mail, sender: str, to: Sequence[str], message_id: str, now: datetime) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    domain = sender.rpartition("@")[2]
    message["From"] = sender
    message["To"] = ", ".join(to)
    # A header's encoded words are decoded when it is set, and the breaks in them are written as they are: a name that
    # has such a word would begin other headers.
    message["Subject"] = mail.subject.replace("=?", "= ?")
    message["Date"] = now
    message["Message-ID"] = f"<{message_id}@{domain}>"
    if mail.thread is not None:
        message["References"] = f"<{mail.thread}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    # Seven bits and short lines, which every server takes.
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    return message


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "; ".join(f"{address}: {_said(*answer)}" for address, answer in error.recipients.items())
    if isinstance(error, smtplib.SMTPResponseException):
        return _said(error.smtp_code, error.smtp_error)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return f"{error}: check monitor.mail.security, user and port"
    return f"{type(error).__name__}: {error}"


def _said(code: int, answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    words = "".join(c if c.isprintable() else " " for c in text)[:_SHOWN_CHARACTERS].strip()
    reason = f"answered {code}" + (f" ({words})" if words else "")
    return f"{reason}: {_ADVICE[code]}" if code in _ADVICE else reason
