"""Signals that nobody pressed a button for: an answer asked for again, a question edited, an answer rejected."""

from collector.signals.implicit import ImplicitResult, ImplicitSignals
from collector.signals.lexicon import Lexicon, LexiconError
from collector.signals.settings import SignalSettings

__all__ = ["ImplicitResult", "ImplicitSignals", "Lexicon", "LexiconError", "SignalSettings"]
