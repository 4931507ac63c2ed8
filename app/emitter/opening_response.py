"""The first state of a response: what it repeats of its request, with the types that strict clients require."""

from collections.abc import Sequence
from typing import Any, Final, assert_never

from msgspec import UNSET

from ..protocol.request.create_response import SERVICE_TIERS, CreateResponse
from ..protocol.request.text_format import JsonObjectFormat, JsonSchemaFormat, PlainFormat, TextFormat
from ..protocol.request.tool_choice import AllowedTools
from ..protocol.response import InputTransformation, Response

_FUNCTION_KEYS: Final[dict[str, Any]] = {"description": None, "parameters": None, "strict": None}
"""Keys that are null where the client gave nothing, never absent."""


def opening_response(
    request: CreateResponse,
    *,
    id: str,  # noqa: A002 — the wire's name
    created_at: int,
    removed: Sequence[InputTransformation] = (),
) -> Response:
    """The response before the model has written anything. `removed`: items of the input that it is not sent."""
    return Response(
        id=id,
        created_at=created_at,
        model=request.model,
        input_transformations=[*removed] or UNSET,
        instructions=request.instructions,
        previous_response_id=request.previous_response_id,
        frequency_penalty=request.frequency_penalty or 0,
        presence_penalty=request.presence_penalty or 0,
        temperature=1 if request.temperature is None else request.temperature,
        top_p=1 if request.top_p is None else request.top_p,
        top_logprobs=request.top_logprobs or 0,
        max_output_tokens=request.max_output_tokens,
        max_tool_calls=request.max_tool_calls,
        metadata=dict(request.metadata or {}),
        parallel_tool_calls=request.parallel_tool_calls is not False,
        prompt_cache_key=request.prompt_cache_key,
        safety_identifier=request.safety_identifier,
        reasoning=_reasoning(request),
        service_tier=request.service_tier if request.service_tier in SERVICE_TIERS else "default",
        text=_text(request),
        tool_choice=_tool_choice(request),
        tools=[{**_FUNCTION_KEYS, **tool} if tool["type"] == "function" else tool for tool in request.raw_tools],
        truncation=request.truncation,
    )


def _reasoning(request: CreateResponse) -> dict[str, Any] | None:
    if request.reasoning is None:
        return None
    asked = request.reasoning
    echo: dict[str, Any] = {"effort": asked.effort, "summary": asked.wanted_summary}
    if asked.context is not None:  # without a word of the client, all turns are sent
        echo["context"] = "current_turn" if asked.context == "current_turn" else "all_turns"
    return echo


def _text(request: CreateResponse) -> dict[str, Any]:
    text: dict[str, Any] = {"format": _format(request.text.format)}
    if request.text.verbosity is not None:
        text["verbosity"] = request.text.verbosity
    return text


def _format(form: TextFormat) -> dict[str, Any]:
    match form:
        case PlainFormat() | JsonObjectFormat():
            return {"type": form.type}
        case JsonSchemaFormat():
            return {
                "type": form.type,
                "name": form.name,
                "description": form.description,
                "schema": form.schema_,
                "strict": form.strict is True,
            }
        case _:
            assert_never(form)


def _tool_choice(request: CreateResponse) -> Any:
    if isinstance(request.tool_choice, AllowedTools):
        return {**request.raw_tool_choice, "mode": request.tool_choice.mode}
    return request.raw_tool_choice
