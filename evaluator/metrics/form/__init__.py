"""Metrics of the answer's form and behaviour: length, language, refusal, citations, time and price."""
