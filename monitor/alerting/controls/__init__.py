"""Silences and marked releases, which people set while the monitor runs."""
