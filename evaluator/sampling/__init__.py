"""Sampling: which answers a judge is asked about, and how much of the sample its budget allows."""

from evaluator.sampling.budget_pacing import PROMPT_TOKENS, BudgetPacing, allowance
from evaluator.sampling.conversations import is_sampled
from evaluator.sampling.sample import ALL, Sampling, SamplingSettings, flagged

__all__ = ["ALL", "PROMPT_TOKENS", "BudgetPacing", "Sampling", "SamplingSettings", "allowance", "flagged", "is_sampled"]
