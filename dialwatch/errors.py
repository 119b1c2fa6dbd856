"""Errors of a command that a person can fix with other options, settings or addresses."""

MISSING_LAKE = "lake.root: is missing; give --lake, or write it into the file of --config"


class ConfigError(ValueError):
    """The configuration cannot be used; the message names each key, what is wrong with it, and what is known."""


class AddressError(ValueError):
    """A text that should name an address to listen on does not."""
