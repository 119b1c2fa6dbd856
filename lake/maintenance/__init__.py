"""Upkeep of the tables: merging small files, dropping old dates, removing what no version needs."""
