"""Replays by command: a run, what it says on the terminal, and its reports for an application team's CI."""
