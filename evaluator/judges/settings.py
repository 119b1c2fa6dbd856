"""Settings of a judge: where it is reached, what it costs, and how much of it may be used."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from runtime.durations import reads_seconds
from runtime.setting import COMMON, Section, Setting

_Name = Annotated[str, Field(min_length=1)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Limit = Annotated[int, Field(ge=1)]
_Budget = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_MILLION = 1_000_000
LimitParameter = Literal["max_tokens", "max_completion_tokens"]
LIMIT_PARAMETERS: tuple[LimitParameter, ...] = ("max_tokens", "max_completion_tokens")
"""What endpoints call the limit of a reply's tokens: the former name, and that for models that reason."""


class JudgeSettings(Section):
    """One judge: a model behind an endpoint that speaks OpenAI's chat completions.

    With `deployment` the endpoint is DIAL or Azure: `<base_url>/openai/deployments/<deployment>/chat/completions` with
    `api-version` and the header `api-key`. Without it, it is any other (OpenAI, vLLM, Ollama):
    `<base_url>/chat/completions` with a bearer token. Prices and budgets are in a currency of the user's choice.
    """

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$"), COMMON]
    """Address of the judge: `https://api.openai.com/v1`, `http://ollama:11434/v1`; for DIAL and Azure without
    `/openai`."""
    model: Annotated[_Name | None, Setting(common=True, default="the deployment")] = None
    """Name of the model; must be given if there is no deployment."""
    deployment: Annotated[_Name | None, COMMON] = None
    """Name of the deployment, for DIAL and Azure."""
    api_version: _Name = "2024-10-21"
    """`api-version` of the calls, for DIAL and Azure."""
    api_key: Annotated[SecretStr | None, COMMON] = None
    """Key of the endpoint."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Temperature of the calls; null for models that accept none; an endpoint that refuses it is asked without it, and
    the log says so."""
    max_tokens: _Limit = 4096
    """Most tokens of one reply. One that is cut there is asked for again in halves; where that does not help it is no
    answer (`judge_cut`). The log says so. When this is set higher, a backfill asks about those answers again."""
    limit_parameter: LimitParameter = "max_tokens"
    """Name of the limit `max_tokens` at the endpoint; `max_completion_tokens` for OpenAI's newer models. The other name
    is used if the endpoint refuses this one."""
    timeout: Annotated[float, BeforeValidator(reads_seconds("sm")), Field(gt=0, allow_inf_nan=False)] = 60.0
    """Time for one call with all of its reply; `2m` can be written."""
    prompt_price: Annotated[_Price | None, COMMON] = None
    """Money, in a currency of yours, per million prompt tokens; 0 for a model that costs nothing."""
    cached_prompt_price: Annotated[_Price | None, Setting(default="prompt_price")] = None
    """Money per million prompt tokens that the endpoint had in its cache."""
    completion_price: Annotated[_Price | None, COMMON] = None
    """Money per million tokens of replies."""
    allow_unpriced: bool = False
    """Whether it is called although it has no prices; its cost is not counted then."""
    allow_own_model: bool = False
    """Whether it is asked also about answers of its own model; models favour those."""
    reasons: bool = False
    """Whether the judge says up to 12 words before each verdict on a claim or an aspect: a quote, or what is missing.
    They are in `scores.details`. Replies have a third to a half more tokens, and the metrics another version ([what it
    costs](benchmarks.md#judges))."""
    images: bool = False
    """Whether the model reads images: then metrics of claims show it those of the question
    ([images](judges.md#images)), and are of another version."""
    logprobs: bool = False
    """Whether the endpoint gives probabilities of tokens (`logprobs`, `top_logprobs`): grades of aspects are weighted
    by them then, and are of another version ([aspects](judges.md#aspects-of-your-own))."""
    budget_per_hour: Annotated[_Budget | None, Setting(default="no limit")] = None
    """Money that calls may cost in an hour (UTC); what may have been paid counts too."""
    budget_per_day: Annotated[_Budget | None, Setting(common=True, default="no limit")] = None
    """Money that calls may cost in a day (UTC); what may have been paid counts too."""
    concurrency: _Limit = 16
    """Most calls at once; fewer while the endpoint says that it is busy."""
    requests_per_minute: Annotated[_Limit | None, Setting(default="no limit")] = None
    """Most calls in a minute, evenly spaced."""
    tokens_per_minute: Annotated[_Limit | None, Setting(default="no limit")] = None
    """Most tokens in a minute: prompt and `max_tokens`; what a reply does not use is given back."""

    @model_validator(mode="after")
    def _can_be_used(self) -> JudgeSettings:
        if self.model is None and self.deployment is None:
            raise ValueError(
                "names neither a model nor a deployment; give `deployment` for DIAL and Azure, else `model`"
            )
        if (self.prompt_price is None) != (self.completion_price is None):
            raise ValueError("prompt_price and completion_price belong together; give both or none")
        if not self.priced and (self.budget_per_hour or self.budget_per_day):
            raise ValueError("a budget needs prices; give prompt_price and completion_price")
        if not self.priced and self.cached_prompt_price is not None:
            raise ValueError("cached_prompt_price needs prompt_price and completion_price")
        return self

    @property
    def priced(self) -> bool:
        """Whether it is known what a call costs."""
        return self.prompt_price is not None

    def price_problem(self, call: str = "a call") -> str | None:
        """Return why it may not be called, as nobody said what that costs; None where it may."""
        if self.priced or self.allow_unpriced:
            return None
        return (
            f"it is not known what {call} costs; give prompt_price and completion_price (0 for a model that costs "
            "nothing), or allow_unpriced"
        )

    @property
    def model_name(self) -> str:
        """The model's name, or the deployment's where it alone is known."""
        return self.model or self.deployment or ""

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Money for one call: the sum of tokens times prices, over a million; 0 where there are no prices.

        `cached_tokens` are those of the prompt that the endpoint had in its cache.
        """
        prompt = self.prompt_price or 0.0
        cached = prompt if self.cached_prompt_price is None else self.cached_prompt_price
        completion = self.completion_price or 0.0
        uncached_tokens = prompt_tokens - cached_tokens
        return (uncached_tokens * prompt + cached_tokens * cached + completion_tokens * completion) / _MILLION
