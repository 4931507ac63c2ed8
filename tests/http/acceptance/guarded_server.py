"""A server that is easily offended, and the shape that every one of its refusals has."""

import httpx

from tests.wire.configuration import Key, Model, Server, Settings, Upstream

CLIENT = "invalid_request_error"
LIMIT = 4096
ALICE = {"authorization": "Bearer alices-key"}
BOB = {"authorization": "bearer bobs-key"}
GUARDED = Settings(
    server=Server(max_body_bytes=LIMIT),
    keys=[Key(name="alice", value="alices-key", models=["demo"]), Key(name="bob", value="bobs-key")],
    upstreams={"demo": Upstream(via="demo")},
    models={"demo": Model(upstream="demo"), "gpt-5": Model(upstream="demo")},
)
"""A small limit and two keys: alice may use one model, bob any."""


def refused(answer: httpx.Response) -> tuple[int, str, str, str]:
    """Status, type, code and param of an error that has OpenAI's shape and the headers every answer has."""
    error = answer.json()["error"]
    assert answer.json().keys() == {"error"}
    assert error.keys() == {"message", "type", "param", "code"}
    assert all(isinstance(value, str) for value in error.values())
    assert error["message"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"].startswith("req_AM-")
    assert answer.headers["openai-processing-ms"].isdecimal()
    assert "openai-model" not in answer.headers
    if answer.status_code in {401, 404, 413}:
        assert "retry-after" not in answer.headers, "Codex would try again"
    return answer.status_code, error["type"], error["code"], error["param"]
