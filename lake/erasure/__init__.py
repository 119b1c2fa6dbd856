"""Erasure of a person, a conversation or an answer: which rows, and how they leave every file."""
