"""Settings of a judge: where it is reached, what it costs, and how much of it may be used."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from runtime.durations import reads_seconds

_Name = Annotated[str, Field(min_length=1)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Limit = Annotated[int, Field(ge=1)]
_Budget = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_MILLION = 1_000_000
LimitParameter = Literal["max_tokens", "max_completion_tokens"]
LIMIT_PARAMETERS: tuple[LimitParameter, ...] = ("max_tokens", "max_completion_tokens")
"""What endpoints call the limit of a reply's tokens: the former name, and that for models that reason."""


class JudgeSettings(BaseModel):
    """One judge: a model behind an endpoint that speaks OpenAI's chat completions.

    With `deployment` the endpoint is DIAL or Azure: `<base_url>/openai/deployments/<deployment>/chat/completions` with
    `api-version` and the header `api-key`. Without it, it is any other (OpenAI, vLLM, Ollama):
    `<base_url>/chat/completions` with a bearer token.

    Prices are per million tokens, in a currency of the user's choice; the budgets are in that currency, for the UTC
    hour and the UTC day. Cached prompt tokens cost as much as others where no price is given for them. A judge
    without prices is not called unless `allow_unpriced`; a model that costs nothing has the price 0.

    `temperature` null leaves it to the model, for those that take none. An endpoint that refuses it, or the name of the
    limit (`limit_parameter`), is asked without it, or with the other name, and the log says so.

    `timeout` is in seconds, for one call with all of its reply. `concurrency` is the most calls at once; there are
    fewer while the endpoint says that it is busy.

    With `reasons` it says a few words before each verdict on a claim or an aspect: another version of the metrics.

    A judge is not asked about answers of its own model, as models favour their own text, unless `allow_own_model`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    model: _Name | None = None
    deployment: _Name | None = None
    api_version: _Name = "2024-10-21"
    api_key: SecretStr | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    max_tokens: _Limit = 4096
    limit_parameter: LimitParameter = "max_tokens"
    timeout: Annotated[float, BeforeValidator(reads_seconds("sm")), Field(gt=0, allow_inf_nan=False)] = 60.0
    prompt_price: _Price | None = None
    cached_prompt_price: _Price | None = None
    completion_price: _Price | None = None
    allow_unpriced: bool = False
    allow_own_model: bool = False
    reasons: bool = False
    budget_per_hour: _Budget | None = None
    budget_per_day: _Budget | None = None
    concurrency: _Limit = 16
    requests_per_minute: _Limit | None = None
    tokens_per_minute: _Limit | None = None

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
