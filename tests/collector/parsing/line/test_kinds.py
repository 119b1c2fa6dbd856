import pytest

from collector.parsing.line.kinds import read_target

CUSTOM = "applications/9c8bYtq2xTzEe4nQ/My%20bot__1.2.0"


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-02-01", "chat_completion"),
        ("//openai/deployments/gpt-4o/chat/completions", "chat_completion"),
        (f"/openai/deployments/{CUSTOM}/chat/completions", "chat_completion"),
        ("/openai/deployments/applications%2Fb%2Fbot/chat/completions", "chat_completion"),
        ("/openai/deployments/interceptor/chat/completions", "chat_completion"),
        ("/openai/v1/chat/completions", "chat_completion"),
        ("/openai/deployments/gpt/completions", "completion"),
        ("/openai/deployments/ada/embeddings?a=/v1/x/rate", "embedding"),
        ("/openai/deployments/interceptor/embeddings", "embedding"),
        ("/openai/v1/responses", "response"),
        ("/openai/v1/responses?stream=true", "response"),
        ("/openai/v1/responses/r-1/cancel", "other"),
        ("/anthropic/v1/messages", "message"),
        ("/v1/messages?beta=true", "message"),
        ("/v1/messages/count_tokens", "other"),
        ("/v1/deployments/gpt-4o/tokenize", "tokenize"),
        ("/v1/deployments/gpt-4o/truncate_prompt", "truncate_prompt"),
        ("/v1/toolset/search/mcp", "mcp"),
        ("/v1/deployments/rag-app/mcp", "mcp"),
        ("/v1/deployments/rag-app/route/index/jobs", "route"),
        ("/v1/deployments/rag-app/route/rate", "route"),
        ("/v1/gpt-4o/rate", "rate"),
        ("/v1/applications/b/bot/rate", "rate"),
        ("/v1/gpt-4o/rate?x=1", "rate"),
        ("/something/else", "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_kind_of_a_path(uri: str | None, kind: str) -> None:
    """The path without its query gives the kind; the deployment that Core wrote stays."""
    target = read_target(uri, "as-written", None)
    assert (target.kind, target.deployment) == (kind, "as-written")


@pytest.mark.parametrize(
    ("uri", "execution_path", "deployment"),
    [
        ("/openai/deployments/gpt-4o/chat/completions", None, "gpt-4o"),
        ("/openai/deployments/my%20model/chat/completions", None, "my model"),
        (f"/openai/deployments/{CUSTOM}/chat/completions", None, CUSTOM),
        (f"/openai/deployments/{CUSTOM.replace('/', '%2f')}/embeddings", None, CUSTOM),
        (f"/v1/{CUSTOM}/rate", None, CUSTOM),
        ("/v1/deployments/gpt-4o/tokenize", None, "gpt-4o"),
        ("/v1/toolset/search/mcp", None, "search"),
        ("/openai/deployments/interceptor/chat/completions", ["pii-in", "pii-out", "rag-app"], "rag-app"),
        ("/openai/deployments/interceptor/chat/completions", None, None),
        ("/openai/deployments/interceptor/chat/completions", [], None),
        ("/openai/v1/responses", ["rag-app"], None),
    ],
)
def test_deployment_that_the_path_names(uri: str, execution_path: list[str] | None, deployment: str | None) -> None:
    """Where Core wrote no deployment it is taken from the URI, on an interceptor's from the path of the call."""
    assert read_target(uri, None, execution_path).deployment == deployment


@pytest.mark.parametrize("uri", ["/hooks/anything", "/custom/messages", "/v2/chat/completions"])
def test_a_path_of_nobody_is_a_global_route(uri: str) -> None:
    """Core writes no deployment for a global route, whatever its path looks like."""
    target = read_target(uri, None, None)
    assert (target.kind, target.deployment) == ("route", None)
