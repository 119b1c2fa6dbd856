"""Images read through Core: with the key of the configuration, from Core alone, and no larger than is useful."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evaluator.answers import core_files
from evaluator.answers.core_files import MOST_BYTES, CoreFiles, CoreUnavailableError, ImageSettings, is_image_file
from tests.evaluator.pictures import data_url, png


class Core:
    """A server of files that notes what it is asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: dict[str, int] = {}
        self.asked: list[tuple[str, str | None]] = []
        core = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                core.asked.append((self.path, self.headers.get("Api-Key")))
                if where := core.redirects.get(self.path):
                    self.send_response(302)
                    self.send_header("Location", where)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                content = core.files.get(self.path)
                self.send_response(core.statuses.get(self.path, 404 if content is None else 200))
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def reader(self) -> CoreFiles:
        return CoreFiles(ImageSettings.model_validate({"base_url": f"{self.address}/", "api_key": "secret-key"}))

    def read(self, name: str) -> str | None:
        return self.reader().read(name)


def serving(core: Core) -> Iterator[Core]:
    thread = threading.Thread(target=core.server.serve_forever)
    thread.start()
    yield core
    core.server.shutdown()
    thread.join()
    core.server.server_close()


@pytest.fixture
def core() -> Iterator[Core]:
    yield from serving(Core())


@pytest.fixture
def other() -> Iterator[Core]:
    yield from serving(Core())


def test_an_image_is_read_with_the_key(core: Core) -> None:
    """Names are percent-encoded, as they stand in the log or not."""
    core.files = {"/v1/files/bucket/my%20red.png": png("red")}
    assert core.read("files/bucket/my%20red.png") == core.read("files/bucket/my red.png") == data_url("red")
    assert core.asked == [("/v1/files/bucket/my%20red.png", "secret-key")] * 2


@pytest.mark.parametrize(
    "content", [b"", b"<svg onload='alert(1)'/>", b"%PDF-1.7", b"GIF", png("red") + b"\0" * MOST_BYTES]
)
def test_what_is_no_image_or_too_large_is_left_out(core: Core, content: bytes) -> None:
    """Its first bytes decide, and not what its name or a header says."""
    core.files = {"/v1/files/b/x.png": content}
    assert core.read("files/b/x.png") is None


@pytest.mark.parametrize("beginning", [b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 "])
def test_other_kinds_of_images_are_read(core: Core, beginning: bytes) -> None:
    core.files = {"/v1/files/b/x.jpg": beginning + b"rest"}
    assert str(core.read("files/b/x.jpg")).startswith("data:image/")


def test_no_redirect_is_followed(core: Core, other: Core) -> None:
    """Neither to another host, which would get the key, nor to another place of Core."""
    other.files = {"/red.png": png("red")}
    core.files = {"/v1/files/b/red.png": png("red")}
    core.redirects = {"/v1/files/b/x.png": f"{other.address}/red.png", "/v1/files/b/y.png": "/v1/files/b/red.png"}
    assert (core.read("files/b/x.png"), core.read("files/b/y.png")) == (None, None)
    assert (other.asked, len(core.asked)) == ([], 2)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "http://127.0.0.1/red.png",
            "https://example.com/red.png",
            "//example.com/red.png",
            "red.png",
            "/files/red.png",
        ),
        *("files/../red.png", "files/b/%2e%2e/%2E%2E/red.png", "files/./red.png", "files//red.png", "files/b\\red.png"),
        *(
            "files/b/red.png?x=.png",
            "files/b/red.pdf#.png",
            "files/b/red\r\nHost: x.png",
            "files/",
        ),
        "files/b/%3Fx.png",
        *("files/%252e%252e/red.png", "files/%25252E%25252e/red.png", "files/b/%252Fred.png"),
    ],
)
def test_what_is_no_image_among_the_files_is_not_asked_for(core: Core, name: str) -> None:
    assert not is_image_file(name)
    assert (core.read(name), core.asked) == (None, [])


def test_without_an_address_or_an_answer_there_is_none(core: Core) -> None:
    assert CoreFiles(ImageSettings()).read("files/b/x.png") is None
    nobody = ImageSettings.model_validate({"base_url": "http://127.0.0.1:9"})
    with pytest.raises(CoreUnavailableError):
        CoreFiles(nobody).read("files/b/x.png")
    assert core.read("files/b/gone.png") is None


def test_a_name_with_a_percent_sign_is_read(core: Core) -> None:
    core.files = {"/v1/files/b/100%25.png": png("red")}
    assert core.read("files/b/100%25.png") == data_url("red")


def test_a_file_that_its_request_calls_an_image_needs_no_ending(core: Core) -> None:
    """It is still no way out of `files/`; by its name alone it is no image."""
    assert not is_image_file("files/b/leave.pdf")
    core.files = {"/v1/files/b/red": png("red")}
    assert core.reader().read("files/b/red") == data_url("red")
    assert core.reader().read("files/b/../red") is None
    assert len(core.asked) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_a_refusal_is_for_good(core: Core, status: int) -> None:
    core.statuses = {"/v1/files/b/x.png": status}
    assert core.read("files/b/x.png") is None


@pytest.mark.parametrize("status", [401, 408, 429, 500, 503])
def test_what_core_may_give_later_is_told_apart(core: Core, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """The log says why, and names no file and no key."""
    core.statuses = {"/v1/files/b/x.png": status}
    with pytest.raises(CoreUnavailableError):
        core.read("files/b/x.png")
    assert f"HTTP {status}" in caplog.text
    assert "x.png" not in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("slow", ["head", "content"])
def test_an_answer_without_end_is_read_for_a_limited_time(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a byte of it comes; its head and its content."""
    monkeypatch.setattr(core_files, "_LONGEST_SECONDS", 0.3)
    begin = b"HTTP/1.1 200 OK\r\n" + (b"X-Slow: " if slow == "head" else b"Content-Length: 4000000\r\n\r\n")
    cut = threading.Event()

    def send(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(begin)
            for _ in range(400):
                time.sleep(0.01)
                connection.sendall(b"x")
            return
        cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=send, args=[listening])
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(CoreUnavailableError, match="TimeoutError"):
            CoreFiles(ImageSettings(base_url=address)).read("files/b/x.png")
        thread.join()
    assert cut.is_set()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    at = [1000.0]
    monkeypatch.setattr(core_files, "monotonic", lambda: at[0])
    return at


def fail(reader: CoreFiles, *names: str) -> None:
    for name in names:
        with pytest.raises(CoreUnavailableError):
            reader.read(f"files/b/{name}.png")


def test_core_is_left_alone_after_three_files_that_failed_in_a_row(core: Core, now: list[float]) -> None:
    """It is asked again after five minutes; an answer between two failures counts."""
    core.statuses = {f"/v1/files/b/{name}.png": 503 for name in "xyzuvw"}
    reader = core.reader()
    fail(reader, "x", "y")
    assert reader.read("files/b/gone.png") is None
    fail(reader, "z", "u", "v", "w")
    assert len(core.asked) == 6
    now[0] += 300
    fail(reader, "w", "x")
    assert len(core.asked) == 7
    now[0] += 300
    core.statuses, core.files = {}, {"/v1/files/b/x.png": png("red")}
    assert reader.read("files/b/x.png") == data_url("red")
    assert reader.read("files/b/x.png") == data_url("red")


def test_a_file_that_fails_keeps_no_other_from_being_read(core: Core, now: list[float]) -> None:
    """However often: it is asked for again every five minutes, the others are read."""
    core.statuses, core.files = {"/v1/files/b/x.png": 500}, {"/v1/files/b/good.png": png("red")}
    reader = core.reader()
    for _ in range(4):
        fail(reader, "x", "x", "x")
        now[0] += 300
    fail(reader, "x")
    assert len(core.asked) == 5
    assert reader.read("files/b/good.png") == data_url("red")


def test_names_that_are_too_long_or_encoded_too_often_are_no_images() -> None:
    """They take no time, however long they are."""
    assert is_image_file("files/b/a%2Epng")
    assert not is_image_file("files/b/" + "a" * 2_000 + ".png")
    assert not is_image_file("files/b/a%" + "25" * 500_000 + "41.png")
    assert not is_image_file("files/b/a%" + "25" * 6 + "41.png")
