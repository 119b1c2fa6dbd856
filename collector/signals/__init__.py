"""Implicit signals: an answer is asked for again, a question is edited, or an answer is rejected in words."""

from collector.signals.implicit_pass import ImplicitResult, ImplicitSignals
from collector.signals.lexicon import Lexicon, LexiconError
from collector.signals.settings import SignalSettings

__all__ = ["ImplicitResult", "ImplicitSignals", "Lexicon", "LexiconError", "SignalSettings"]
