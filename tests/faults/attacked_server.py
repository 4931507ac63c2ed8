"""A real server with everything worth stealing in it, and a watch over what an intruder gets to see and to do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from tests.wire.configuration import Key, Model, Server, Settings, Upstream
from tests.wire.program import Program
from tests.wire.servers.server import ScriptedUpstream

KEY = "am-the-key-of-alice-0123456789"
BOBS_KEY = "am-the-key-of-bob-0123456789"
"""Bob may use one model only."""
UPSTREAMS_KEY = "sk-the-upstreams-own-0123456789"
PROMPT = "the-prompt-that-nobody-else-may-read"
BEARER = {"authorization": f"Bearer {KEY}"}

UPSTREAMS: dict[str, dict[str, str]] = {
    "direct": {"via": "chat"},
    "litellm": {"via": "litellm"},
    "gemini": {"via": "litellm", "provider": "gemini"},
    "anthropic": {"via": "litellm", "provider": "anthropic"},
    "deepseek": {"via": "litellm", "provider": "deepseek"},
    "relay": {"via": "responses"},
}


def configuration(url: str) -> str:
    """A model for each upstream; all other names go to one of those over litellm."""
    shared = {"base_url": url, "retries": 0, "breaker_failures": 0, "api_key": UPSTREAMS_KEY}
    return Settings(
        server=Server(max_body_bytes=65_536),
        keys=[Key(name="alice", value=KEY), Key(name="bob", value=BOBS_KEY, models=["direct"])],
        upstreams={name: Upstream(**via, **shared) for name, via in UPSTREAMS.items()},
        models={**{name: Model(upstream=name) for name in UPSTREAMS}, "*": Model(upstream="deepseek")},
    )


INVALID, TYPE, MISSING = "invalid_value", "invalid_type", "missing_required_parameter"
UNSUPPORTED, UNKNOWN = "unsupported_parameter", "unknown_parameter"
CLIENT, SERVER, RATE = "invalid_request_error", "server_error", "rate_limit_error"


class Refusal(NamedTuple):
    """What a request must come to."""

    status: int
    code: str
    param: str = ""
    type: str = CLIENT


STRANGER = Refusal(401, "invalid_api_key")


class AttackedServer(NamedTuple):
    """The server, the upstream behind it, and an address nobody may be sent to."""

    program: Program
    upstream: ScriptedUpstream
    canary: ScriptedUpstream
    client: httpx.Client

    @property
    def url(self) -> str:
        """Without `/v1`."""
        return self.program.url

    def post(self, body: dict[str, Any], **headers: str) -> httpx.Response:
        """One request of Alice's, on whose words nobody may look."""
        return self.client.post("/v1/responses", json={"input": PROMPT, **body}, headers=BEARER | headers)

    @contextmanager
    def watched(self, *, asks: bool = False) -> Iterator[None]:
        """Whatever happens inside: the server lives, gives nothing away, and asks its upstream only if it may."""
        asked, at = len(self.upstream.asks), len(self.program.log)
        yield
        with self.program.alive():
            pass
        assert self.client.get("/health/live").json() == {"status": "ok"}
        if not asks:
            assert len(self.upstream.asks) == asked, "the upstream was asked"
        strayed = self.canary.asks[:]
        self.canary.asks.clear()
        assert strayed == [], "somebody was sent elsewhere"
        assert_discreet(self.program.log[at:])


def assert_discreet(text: str) -> None:
    """No key, prompt or traceback is in this text."""
    for secret in (KEY, BOBS_KEY, UPSTREAMS_KEY, "0123456789", PROMPT, "Traceback", 'File "'):
        assert secret not in text


def refusal_of(answer: httpx.Response) -> Refusal:
    """What it came to; it must have the shape of every other refusal, and show nothing it should not."""
    headers, body = answer.headers, json.loads(answer.text)
    assert_discreet(answer.text + str(headers))
    assert body.keys() == {"error"}
    error = body["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["message"]
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"]
    assert ("retry-after" in headers) == (error["code"] in {"rate_limit_exceeded", "overloaded"})
    return Refusal(answer.status_code, error["code"], error["param"], error["type"])
