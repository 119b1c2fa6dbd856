"""Tasks for worker processes, which import them from here."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path


class Touching:
    """State that leaves a file with the id of each process that it was sent to."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.number = number

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        (self.folder / str(os.getpid())).touch()


class OddError(Exception):
    """It can be pickled, but not read again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def added(state: Touching, item: int) -> int:
    time.sleep(0.02 if item % 3 == 0 else 0)
    return state.number + item


def failing(at: int, item: int) -> int:
    if item == at:
        raise ValueError(f"item {item} is odd")
    return item


def oddly_failing(_: None, item: int) -> object:
    if item:
        raise OddError("one", "two")
    return threading.Lock()


def noted(folder: Path, item: int) -> int:
    (folder / f"{os.getpid()}-{item}").touch()
    return os.getpid()


def hanging(folder: Path, item: int) -> None:
    noted(folder, item)
    time.sleep(3600)


def killed_while_sending(folder: Path, item: int) -> bytes:
    """Give more than a pipe holds, once the parent is said to read nothing; it is killed in the middle of that."""
    noted(folder, item)
    while not (folder.parent / "parent-reads-nothing").exists():
        time.sleep(0.01)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes(4 << 20)
