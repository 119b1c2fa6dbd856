"""Texts of messages: the line and the lines of an alert, of a limit and of an incident, in plain words."""
