"""Erasure of a person, a conversation or an answer: its scope, the rows that go, and how they leave every file."""
