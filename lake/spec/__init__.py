"""Specification of the tables: their columns, the values of these, and what an answer is."""
