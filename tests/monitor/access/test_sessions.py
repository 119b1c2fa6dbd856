"""Sessions: how long they last, and that nobody can make one."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.access.sessions import SESSION_SECONDS, FormTokens, Sessions

TOKEN = "correct horse battery staple"


class Seconds:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_after_some_hours() -> None:
    """It holds for twelve hours and not for a second more, whichever process looks."""
    clock = Seconds()
    cookie = Sessions(TOKEN, clock).begin()
    sessions = Sessions(TOKEN, clock)
    assert SESSION_SECONDS == 12 * 60 * 60
    clock.now += SESSION_SECONDS - 1
    assert sessions.find(cookie) is not None
    clock.now += 1
    assert sessions.find(cookie) is None


def test_a_session_that_was_ended_is_over() -> None:
    """Also for who kept the cookie; other sessions go on."""
    sessions = Sessions(TOKEN, Seconds())
    first, second = sessions.begin(), sessions.begin()
    session = sessions.find(first)
    assert session is not None
    sessions.end(session)
    assert sessions.find(first) is None
    assert sessions.find(second) is not None


_STEPS = st.one_of(
    st.just("begin"), st.tuples(st.just("end"), st.integers(0, 9)), st.tuples(st.just("wait"), st.integers(1, 8 * 3600))
)


@example(["begin", "begin", "begin", ("end", 0), ("end", 1), ("wait", 1)])
@given(st.lists(_STEPS, max_size=30))
def test_a_session_is_over_for_good_once_it_was_ended_or_its_time_is_up(steps: list[str | tuple[str, int]]) -> None:
    """However many others begin and end, in any order; one that was ended is forgotten once its time is up."""
    clock = Seconds()
    sessions, cookies = Sessions(TOKEN, clock), list[tuple[str, float]]()
    ended: set[str] = set()
    for step in steps:
        if isinstance(step, str):
            cookies.append((sessions.begin(), clock.now + SESSION_SECONDS))
        elif step[0] == "wait":
            clock.now += step[1]
        elif cookies:
            cookie, _ = cookies[step[1] % len(cookies)]
            if session := sessions.find(cookie):
                sessions.end(session)
                ended.add(cookie)
        for cookie, until in cookies:
            assert (sessions.find(cookie) is not None) == (cookie not in ended and clock.now < until)
        assert len(sessions._ended) <= len(ended)
    clock.now += SESSION_SECONDS
    last = sessions.find(sessions.begin())
    assert last is not None
    sessions.end(last)
    assert set(sessions._ended) == {last}


def test_another_token_ends_all_sessions() -> None:
    """A token that is changed leaves no session of the old one."""
    clock = Seconds()
    assert Sessions(TOKEN + "!", clock).find(Sessions(TOKEN, clock).begin()) is None


def test_the_token_is_not_in_the_cookie() -> None:
    """Nor is a part of it."""
    cookie = Sessions(TOKEN, Seconds()).begin()
    assert not any(word in cookie for word in TOKEN.split())


@given(st.data())
def test_a_cookie_that_was_changed_is_none(data: st.DataObject) -> None:
    """Whatever is cut, added or replaced, a later end included."""
    sessions = Sessions(TOKEN, Seconds())
    cookie = sessions.begin()
    at = data.draw(st.integers(0, len(cookie)))
    cut = data.draw(st.integers(0, len(cookie) - at))
    forged = cookie[:at] + data.draw(st.text(max_size=12)) + cookie[at + cut :]
    assert (sessions.find(forged) is not None) == (forged == cookie)


@given(st.text())
def test_any_other_text_is_no_session(text: str) -> None:
    """Nothing that a client writes raises, and nothing is a session."""
    assert Sessions(TOKEN, Seconds()).find(text) is None


@given(st.text(), st.text())
def test_a_forms_token_is_of_one_session(session: str, other: str) -> None:
    """The token of another session, or of another process's key, does not fit; a script needs none."""
    forms = FormTokens(b"key")
    assert forms.fits(session, forms.token_of(session))
    assert not forms.fits(session, FormTokens(b"other").token_of(session))
    assert forms.fits(session, forms.token_of(other)) == (
        session.encode("utf-8", "replace") == other.encode("utf-8", "replace")
    )
    assert not forms.fits(session, "")
    assert forms.fits(None, "")
