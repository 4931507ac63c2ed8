"""What the openai package for Python raises where a request cannot be served."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import APIStatusError, BadRequestError, InternalServerError, NotFoundError, OpenAI, RateLimitError


@pytest.fixture
def client(demo_url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=0) as client:
        yield client


def create(**fields: Any) -> Callable[[OpenAI], object]:
    return lambda client: client.responses.create(**({"model": "demo", "input": "hi"} | fields))


MEANT = "Did you mean `demo`?"
CASES: dict[str, tuple[Callable[[OpenAI], object], type[APIStatusError], str, str, str]] = {
    "unknown model, streamed": (create(model="demi", stream=True), NotFoundError, "model_not_found", "model", MEANT),
    "unknown model shown": (lambda it: it.models.retrieve("demi"), NotFoundError, "model_not_found", "model", "demi"),
    "bad temperature": (create(temperature=9), BadRequestError, "invalid_value", "temperature", "temperature"),
    "stored response": (lambda it: it.responses.retrieve("resp_1"), NotFoundError, "not_found", "", "stateless"),
}
"""The other refusals are rows of tests/wire/errors.jsonl."""


@pytest.mark.parametrize(("step", "kind", "code", "param", "words"), CASES.values(), ids=CASES)
def test_a_refusal_is_raised_as_the_class_that_programs_catch(
    client: OpenAI, step: Callable[[OpenAI], object], kind: type[APIStatusError], code: str, param: str, words: str
) -> None:
    with pytest.raises(kind, match=words.replace("?", r"\?")) as caught:
        step(client)
    assert (type(caught.value), caught.value.code, caught.value.param) == (kind, code, param)
    assert caught.value.type == "invalid_request_error"


@pytest.mark.parametrize("stream", [False, True])
def test_a_busy_upstream_is_a_rate_limit_that_says_when_to_try_again(client: OpenAI, stream: bool) -> None:
    with pytest.raises(RateLimitError) as caught:
        client.responses.create(model="demo", input="be busy", stream=stream)
    assert caught.value.response.headers["retry-after"] == "1"
    assert (caught.value.code, caught.value.type) == ("rate_limit_exceeded", "rate_limit_error")


def test_the_package_obeys_the_wait_and_tries_again(demo_url: str) -> None:
    """Its own retries are what Retry-After is for: a second of waiting, then the same words again."""
    seen: list[float] = []
    with OpenAI(base_url=f"{demo_url}/v1", api_key="any", max_retries=1) as client:
        client._client.event_hooks["response"] = [lambda response: seen.append(response.status_code)]
        with pytest.raises(RateLimitError):
            client.responses.create(model="demo", input="be busy")
    assert seen == [429, 429]


def test_a_failed_answer_names_its_reason(client: OpenAI) -> None:
    with pytest.raises(InternalServerError) as caught:
        client.responses.create(model="demo", input="failed")
    assert (caught.value.status_code, caught.value.code, caught.value.type) == (502, "upstream_error", "server_error")
    with client.responses.create(model="demo", input="failed", stream=True) as stream:
        [*_, last] = stream
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert str(caught.value.body["message"]) == f"{last.response.error.message} No part of the answer is returned."  # type: ignore[index]
