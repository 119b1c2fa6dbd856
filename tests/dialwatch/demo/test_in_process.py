"""A client of an application in this process."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI, HTTPException

from dialwatch.demo.assistant import InProcessClient


def test_an_answer_is_given_and_a_refusal_is_an_error() -> None:
    """The body is JSON, and the request has a key, as an application behind DIAL expects."""
    app = FastAPI()

    @app.post("/echo")
    def echo(body: dict[str, str]) -> dict[str, str]:
        if body["say"] == "no":
            raise HTTPException(418)
        return body

    with InProcessClient(app) as client:
        assert client.post("/echo", {"say": "yes"}) == '{"say":"yes"}'
        with pytest.raises(httpx.HTTPStatusError, match="418"):
            client.post("/echo", {"say": "no"})
