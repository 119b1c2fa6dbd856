"""Words of signals of other senders: their number is limited, so that no sender creates time series without limit."""

from __future__ import annotations

import logging
import threading
from typing import Final

from lake.spec.vocabulary import Signal

logger = logging.getLogger(__name__)

_OWN_WORDS: Final = frozenset(Signal)


class WordLimit:
    """The built-in words, and a limited number of others: the first ones since the start. Threads may share one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._others: set[str] = set()
        self._has_warned = False
        self._lock = threading.Lock()

    def stored_as(self, word: str) -> str:
        """The word under which a signal is stored."""
        if word in _OWN_WORDS or word in self._others:
            return word
        with self._lock:
            if len(self._others) < self._most:
                self._others.add(word)
                return word
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "signals and scores came with more than %d words of their own: signals with %r and further ones "
                    "are stored as %r, with the word in `details`, and scores with them are rejected; if they are "
                    "meant, raise collector.signals.words",
                    self._most,
                    word,
                    Signal.OTHER.value,
                )
        return Signal.OTHER
