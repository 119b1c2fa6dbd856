"""Taking persons' data and keys out of rows before anything is written."""

from collector.redaction.redactor import Redactor
from collector.redaction.settings import PATTERN_NAMES, PresidioSettings, RedactionSettings

__all__ = ["PATTERN_NAMES", "PresidioSettings", "RedactionSettings", "Redactor"]
