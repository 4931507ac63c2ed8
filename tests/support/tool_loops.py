"""A client that keeps a conversation with tools and sends it again with every request."""

import json
from typing import Any, NamedTuple

from openai import OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall

from tests.support.demo_behaviours import WEATHER
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response

Json = dict[str, Any]


class Loop(NamedTuple):
    """A client that keeps the whole conversation and sends it again with every request."""

    client: OpenAI
    model: str
    history: list[Any]
    stream: bool = False
    forgets: bool = False
    """It keeps no thoughts, and asks for none to keep."""

    def ask(self, *items: Any) -> Response:
        """Add these items to the conversation, then the answer to them."""
        self.history.extend(items)
        settings: Json = {
            "model": self.model,
            "input": list(self.history),
            "tools": [WEATHER],
            "store": False,
            "include": [] if self.forgets else ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
        }
        with self.client.responses.with_streaming_response.create(**settings, stream=self.stream) as answer:
            body = answer.read()
        if not self.stream:
            judge_response(json.loads(body))
            response = Response.model_validate_json(body)
            self.history.extend(item for item in response.output if not (self.forgets and item.type == "reasoning"))
            return response
        content = events_of(body)
        judged(content)
        done = [event["item"] for event in content if event["type"] == "response.output_item.done"]
        assert content[-1]["response"]["output"] == done
        self.history.extend(as_codex_sends_it(item) for item in done)
        return Response.model_validate(content[-1]["response"])

    def run(self, response: Response) -> list[Json]:
        """What the tools say to the calls of this answer, the last call first."""
        return [
            {"type": "function_call_output", "call_id": call.call_id, "output": f"fine: {call.arguments}"}
            for call in reversed(calls_of(response))
        ]


def as_codex_sends_it(item: Json) -> Json:
    """Without ids and statuses."""
    kept = {key: value for key, value in item.items() if key not in {"id", "status"}}
    return {**kept, "content": None} if item["type"] == "reasoning" else kept


def calls_of(response: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
