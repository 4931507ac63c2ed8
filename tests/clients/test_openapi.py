"""The server does what it says of itself: whatever its own description allows, it answers as that promises."""

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings

from tests.wire.configuration import Key, Model, Settings, Upstream
from tests.wire.event_stream import events_of
from tests.wire.program import serving

EXAMPLES = 30
"""For each operation; tests/faults/test_hostile_clients.py tries many more for that which starts turns."""
TURNS = "POST /v1/responses"
OPERATIONS = [
    "GET /v1/responses",
    "POST /v1/responses/compact",
    "POST /v1/responses/input_tokens",
    "POST /v1/alpha/search",
    "GET /v1/models",
    "GET /v1/models/{name}",
    "GET /health/live",
    "GET /health/ready",
]


@pytest.fixture(scope="module")
def described(demo_url: str) -> Any:
    """The description, as it is served."""
    answer = httpx.get(f"{demo_url}/openapi.json", timeout=50)
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def schema_of(described: Any, name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}", "components": described["components"]}


def error_of(described: Any) -> Any:
    """The schema of every error."""
    return described["components"]["responses"]["Error"]["content"]["application/json"]["schema"]


def test_every_operation_is_described(described: Any) -> None:
    result = [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
    assert sorted(result) == sorted([TURNS, *OPERATIONS])


def test_every_schema_is_used(described: Any) -> None:
    """What only the server keeps of a request is no part of the description."""
    written = json.dumps(described)
    unused = [name for name in described["components"]["schemas"] if f'/schemas/{name}"' not in written]
    assert unused == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_the_description_allows_is_answered_as_it_promises(
    demo_url: str, described: Any, operation: str
) -> None:
    from tests.clients import described_api

    method, path = operation.split()
    searches = path.endswith("/search")  # a 501: this server has no search service

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @given(case=described_api.requests(described, method, path))
    def check(case: Any) -> None:
        if isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
            case.body["model"] = "demo"  # any other is a 404, and nothing more is seen
        described_api.ask(case, demo_url, may_fail=searches)

    check()


@pytest.mark.parametrize(
    "fields",
    [
        {"input": "Hi"},
        {"input": "think and tell me the weather", "tools": [{"type": "function", "name": "get_weather"}]},
        {"input": "write a patch", "tools": [{"type": "custom", "name": "patch"}]},
        {"input": "run a shell", "tools": [{"type": "shell", "environment": {"type": "local"}}]},
        {"input": "refuse"},
        {"input": "incomplete"},
        {"input": "cut", "metadata": {"a": "b"}, "temperature": 0.5},
    ],
)
def test_answers_and_events_are_what_they_are_said_to_be(demo_url: str, described: Any, fields: dict[str, Any]) -> None:
    body = {"model": "demo", **fields}
    posted = described["paths"]["/v1/responses"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**posted, "components": described["components"]}, body)
    whole = httpx.post(f"{demo_url}/v1/responses", json=body, timeout=50)
    jsonschema_rs.validate(schema_of(described, "Response") if whole.is_success else error_of(described), whole.json())
    events = events_of(httpx.post(f"{demo_url}/v1/responses", json={**body, "stream": True}, timeout=50).content)
    assert len(events) > 4
    known = jsonschema_rs.Draft202012Validator(schema_of(described, "Event"))
    for event in events:
        known.validate(event)


def test_requests_of_clients_are_allowed_and_mistakes_are_not(described: Any) -> None:
    requests = jsonschema_rs.Draft202012Validator(schema_of(described, "Request"))
    for file in (Path(__file__).parents[1] / "wire" / "transcripts").glob("*/request.json"):
        requests.validate(json.loads(file.read_text()))
    call = {"type": "function_call", "call_id": "c", "name": "f"}
    function = {"type": "function", "name": "no name"}
    for mistake in (
        {"input": [call]},
        {"input": [{"role": "user"}]},
        {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
        {"input": "Hi", "tools": [function]},
        {"input": "Hi", "tools": [{"type": "namespace", "name": "n", "tools": [function]}]},
        {"input": [{"type": "additional_tools", "tools": [function]}]},
    ):
        assert not requests.is_valid({"model": "m", **mistake}), mistake


def test_the_description_has_nothing_of_its_operators() -> None:
    keys = [Key(name="alice", value="bobs-key")]
    with serving(
        Settings(keys=keys, upstreams={"u": Upstream(via="demo")}, models={"demo": Model(upstream="u")})
    ) as url:
        result = httpx.get(f"{url}/openapi.json", timeout=50).text
    for word in ("alice", "bob", "demo"):
        assert word not in result.lower()
