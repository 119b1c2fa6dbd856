"""Errors that an answer with status 200 holds: their shapes in the field, and their messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

NO_MESSAGE: Final = "no message"
_LONGEST_MESSAGE: Final = 500
_LONGEST_KIND: Final = 100
_DEEPEST: Final = 4
_WORDS_OF_ERROR: Final = ("error", "exception", "response.error")
_TYPED: Final = ("response.", "message_", "content_block_")
"""Beginnings of the types of events that say with no other member that the answer failed."""

_ANSWERS: Final = ("choices", "output", "content", "candidates", "delta", "result")
"""Members of an answer: beside one of them a message or a status is no error."""

_USUAL: Final = frozenset(("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "type"))
"""Members of each chunk of an answer: none of them alone says that it failed."""

_MESSAGES: Final = (
    *("message", "display_message", "msg", "error_msg", "error_message", "errorMessage", "status_msg"),
    *("error_description", "detail", "error", "faultstring", "reason", "description", "title", "data"),
)
_ERROR_CODES: Final = ("error_code", "errorCode", "err_code")
_CODES: Final = ("code", "status_code", "statusCode")
_KINDS: Final = ("type", "error_type", "errorType", "__type", *_CODES, *_ERROR_CODES, "status")
_BARE: Final = frozenset(("message", "msg", "request_id", "requestId", "trace_id", "id"))
_SUCCESS: Final = frozenset(("", "0", "ok", "success", "successful", "succeeded", "completed", "none", "null", "false"))
_FAILURE: Final = frozenset(("error", "failed", "failure", "fail"))
_GOOD_STATUSES: Final = range(200, 400)


def error_of(value: Mapping[str, Any]) -> object:
    """The error that an answer or a chunk of one holds; None where it holds none.

    It is the object or the text that the sender made of it: the member `error` (OpenAI, Anthropic, Gemini, vLLM), also
    that of the choice (OpenRouter) or of the response (Responses API), else the object itself where it says that it is
    one.
    """
    if "error" in value and (found := _member(value)):
        # A tool of the Responses API that failed, while the answer goes on.
        return None if "_call." in _text(value.get("type")) else found
    if choices := value.get("choices"):
        return _of_choice(choices) or (value if "error_code" in value and _has_code(value, _ERROR_CODES) else None)
    if isinstance(value.get("output"), list) or isinstance(value.get("content"), list):
        return None
    if isinstance(response := value.get("response"), dict) and (found := _member(response)):
        return found
    kind = value.get("type")
    if kind in _WORDS_OF_ERROR or value.get("object") in _WORDS_OF_ERROR or value.get("event") in _WORDS_OF_ERROR:
        return value
    return None if isinstance(kind, str) and kind.startswith(_TYPED) else _flat(value)


def upstream_error(error: object) -> str:
    """What `parsed_logs.error` says of an error: its message, at most 500 characters; in brackets type and code."""
    return f"upstream error: {_described(error)}"


def _described(error: object) -> str:
    message = error_message(error)
    inner = error["error"] if isinstance(error, dict) and isinstance(error.get("error"), dict) else error
    if not isinstance(inner, dict):
        return message
    found = dict.fromkeys([_text(inner[key])[:_LONGEST_KIND] for key in _KINDS if key in inner])
    kinds = [kind for kind in found if kind not in ("", "0", *_WORDS_OF_ERROR, message)]
    return message + (f" ({', '.join(kinds)})" if kinds else "")


def error_message(error: object) -> str:
    """Message of an error, at most 500 characters; `no message` where it has none."""
    return _words(error, _DEEPEST)[:_LONGEST_MESSAGE] or NO_MESSAGE


def _member(value: Mapping[str, Any]) -> object:
    """The member `error`, if it says that something went wrong; some senders write an empty one in each answer."""
    error = value.get("error")
    if not error or isinstance(error, list):
        return error or None
    if isinstance(error, dict):
        return error if any(error.values()) else None
    if isinstance(error, str) and error.strip().lower() in _SUCCESS:
        return None
    members = {key: value[key] for key in (*_MESSAGES, *_KINDS) if value.get(key)}
    return members if len(members) > 1 else error


def _of_choice(choices: object) -> object:
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            for holder in (choice, choice.get("delta"), choice.get("message")):
                if isinstance(holder, dict) and "error" in holder and (found := _member(holder)):
                    return found
    return None


def _flat(value: Mapping[str, Any]) -> object:
    """An error whose members stand in the answer's own place."""
    if value.keys() <= _USUAL:
        return None
    if _has_code(value, _ERROR_CODES):
        return value
    if any(value.get(key) for key in _ANSWERS):
        return None
    if value.get("errors") and isinstance(value["errors"], (list, dict, str)):
        return value["errors"]
    for key, inner in value.items():
        # MiniMax; the exceptions of Bedrock's streams; Apigee.
        if isinstance(inner, dict) and ((key == "base_resp" and _has_code(inner, _CODES)) or key == "fault"):
            return inner
        if key.endswith("Exception") and isinstance(inner, dict):
            return {"type": key, **inner}
    is_failure = value.get("success") is False or _text(value.get("status")).lower() in _FAILURE
    if is_failure or value.get("detail") or _is_text(value, ("errorMessage", "error_message", "error_msg")):
        return value
    has_code = _has_code(value, _CODES) or _is_bad_status(value.get("status")) or "__type" in value
    return value if _is_text(value, ("message", "msg")) and (has_code or value.keys() <= _BARE) else None


def _has_code(value: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    """Whether one of the members is a code, and not one of success."""
    codes = [value[key] for key in keys if key in value]
    return any(
        _is_bad_status(code) or (isinstance(code, str) and not code.isdecimal() and code.lower() not in _SUCCESS)
        for code in codes
    )


def _is_bad_status(status: object) -> bool:
    if isinstance(status, str) and status.isdecimal() and len(status) < _LONGEST_KIND:
        status = int(status)
    return type(status) is int and status != 0 and status not in _GOOD_STATUSES


def _is_text(value: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    """Whether one of the members is a text that does not say that all is well."""
    return any(isinstance(value.get(key), str) and value[key].lower() not in _SUCCESS for key in keys)


def _text(value: object) -> str:
    """A text or a number as text; "" for anything else."""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _words(error: object, depth: int) -> str:
    if isinstance(error, list) and depth:
        return "; ".join(filter(None, (_words(one, depth - 1) for one in error)))
    if not isinstance(error, dict) or not depth:
        return _text(error)
    for key in _MESSAGES:
        if words := _words(error.get(key), depth - 1):
            return words
    return ""
