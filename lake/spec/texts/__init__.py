"""Readers of texts, however they are written: the one form of their characters, and phrases by which answers refuse."""
