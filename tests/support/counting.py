"""Counting the tokens of a request, and what the answer says of the count."""

from typing import Any

import httpx

from app.settings import Model, Settings, Upstream

Json = dict[str, Any]


def settings(upstream: Upstream, **more: Any) -> Settings:
    return Settings(upstreams={"up": upstream}, models={"m": Model(upstream="up")}, **more)


def count(url: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "Hello, what is this?", **fields}
    return httpx.post(f"{url}/v1/responses/input_tokens", json=body, headers=headers, timeout=20)


def counted(answer: httpx.Response) -> tuple[int, int | None, str | None]:
    return answer.status_code, answer.json().get("input_tokens"), answer.headers.get("x-am-token-count")
