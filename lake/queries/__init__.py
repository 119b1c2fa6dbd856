"""Answers as the tables hold them: text and contexts, cases they are compared with, people's signals, frames."""
