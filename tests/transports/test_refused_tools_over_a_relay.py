"""A relay whose server is unknown, and refuses tools that are no functions: it is asked once more with functions."""

import json
from typing import Any

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.servers import Ask, ResponsesUpstream, Script, Status, Step
from tests.wire.servers.responses import answer, call, message

Json = dict[str, Any]

CUSTOM: Json = {"type": "custom", "name": "note", "description": "Takes a note."}
FUNCTION: Json = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
SEARCH: Json = {"type": "web_search"}
TWICE = "This model's server refused the request with its tools as they are, so all are sent as functions."


def refusal(message: str, code: str | None = None, status: int = 400) -> Status:
    return Status(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}})


def functions_only(error: Status) -> Script:
    """A server that refuses any other tool."""

    def steps(ask: Ask) -> list[Step]:
        kinds = {tool["type"] for tool in ask.body.get("tools", [])}
        notes = CUSTOM["name"] in json.dumps(ask.body["tools"])
        said = answer(call("fc_1", "call_1", "note", '{"input": "Hi"}')) if notes else HI
        return [error] if kinds - {"function"} else [*said]

    return steps


HI = answer(message("msg_1", "Hi."))


def asked(
    upstream: ResponsesUpstream, posted: list[Json], items: Any = "Hi", *, strict: bool = False, **options: Any
) -> httpx.Response:
    settings = Settings(
        server=Server(strict=strict),
        upstreams={"up": Upstream(via="responses", base_url=upstream.url, **options)},
        models={"m": Model(upstream="up")},
    )
    with serving(settings) as url:
        return httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, "tools": posted})


@pytest.mark.parametrize(
    "error",
    [
        refusal("'type' of tool must be 'function'"),
        refusal("Input should be 'function'", status=422),
        refusal("Unsupported tool.", code="unsupported_value"),
    ],
)
def test_it_is_asked_once_more_with_functions(error: Status) -> None:
    with ResponsesUpstream(functions_only(error)) as upstream:
        result = asked(upstream, [CUSTOM, FUNCTION])
    assert (result.status_code, len(upstream.asks)) == (200, 2)
    assert upstream.asks[0].body["tools"] == [CUSTOM, FUNCTION]
    assert [tool["type"] for tool in upstream.asks[1].body["tools"]] == ["function", "function"]
    response = result.json()
    assert [(item["type"], item["input"]) for item in response["output"]] == [("custom_tool_call", "Hi")]
    assert [tool["type"] for tool in response["tools"]] == ["custom", "function"]
    (warning,) = json.loads(result.headers["x-am-warnings"])
    assert warning.startswith(TWICE)


def test_then_it_gets_no_tools_of_other_servers() -> None:
    with ResponsesUpstream(functions_only(refusal("No such tool"))) as upstream:
        result = asked(upstream, [FUNCTION, SEARCH])
    assert (result.status_code, len(upstream.asks)) == (200, 2)
    warnings = json.loads(result.headers["x-am-warnings"])
    assert any("web_search" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("tools", "error", "options"),
    [
        ([CUSTOM], refusal("No."), {"tools": "native"}),
        ([CUSTOM], refusal("No."), {"provider": "openai"}),
        ([FUNCTION], refusal("No."), {}),
        ([CUSTOM], refusal("maximum context length is 8 tokens", code="context_length_exceeded"), {}),
        ([CUSTOM], refusal("rejected by our safety system", code="content_policy_violation"), {}),
        ([CUSTOM], refusal("No.", status=403), {}),
        ([CUSTOM], refusal("No.", status=500), {}),
    ],
    ids=[
        "native by choice",
        "a complete API",
        "functions alone",
        "too long",
        "forbidden",
        "no access",
        "its own fault",
    ],
)
def test_what_functions_would_not_change_is_asked_once(tools: list[Json], error: Status, options: Json) -> None:
    with ResponsesUpstream([error]) as upstream:
        result = asked(upstream, tools, **options)
    assert result.status_code >= 400
    assert len(upstream.asks) == 1


def test_a_summary_of_the_server_is_not_given_up_for_tools() -> None:
    items = [{"type": "compaction", "encrypted_content": "gAAA"}, {"role": "user", "content": "Hi"}]
    with ResponsesUpstream([refusal("No.")]) as upstream:
        assert asked(upstream, [CUSTOM], items).status_code == 400
    assert len(upstream.asks) == 1


def test_a_strict_server_does_not_change_the_tools() -> None:
    with ResponsesUpstream(functions_only(refusal("No custom tools."))) as upstream:
        result = asked(upstream, [CUSTOM], strict=True)
    assert (result.status_code, result.json()["error"]["message"]) == (400, "No custom tools.")
    assert len(upstream.asks) == 1
