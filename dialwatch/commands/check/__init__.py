"""Checks of an installation: what it needs, one finding each, without a change to any table."""
