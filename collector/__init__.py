"""Collector: turns log lines of DIAL and signals of people into rows of the lake."""
