"""Servers whose own Responses API knows function tools only, each with the manners of a real one.

They play a model (see `model`), and refuse what the real server refuses, or drops without a word:

    VllmResponses      custom tools with a grammar, unknown items: 400. Its last event is always `response.completed`
    OllamaResponses    a namespace: 500; unknown items and parts, arguments that are no object, a named tool_choice, and
                       efforts that its versions before 0.32.11 do not know: 400
    DeepSeekResponses  custom tools: 400; `agent_message`; calls without the reasoning before them
    LlamaCppResponses  tools that are no functions: 400; messages without a type; reasoning without its text; a
                       tool_choice that is no word. Its events have no positions
"""

import json
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from tests.wire.servers.model import Answer, Calls, Count, Hides, ModelUpstream, Says, Thinks, pieces, sealed
from tests.wire.servers.responses import ResponsesUpstream, ScriptedItem, answer, call, message, reasoning
from tests.wire.servers.responses_like import llama_cpp, vllm
from tests.wire.servers.steps import Ask, Json, Status, Step

_ITEMS: Final = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_OLLAMA_EFFORTS: Final = (None, "none", "low", "medium", "high", "max")
_TOOL_KEYS: Final = frozenset({"type", "name", "description", "parameters", "strict"})


class FunctionsUpstream(ModelUpstream, ResponsesUpstream):
    """A server of this kind. What all of them refuse, and what its model has said before and wants back."""

    count = Count(7, 0, 5, 0)

    def forget(self) -> None:
        """Forget what was said."""
        self.said: dict[str, tuple[Json, str | None]] = {}
        """By call id: the name and arguments of a call, and the sealed reasoning before it."""

    def streamed(self, said: Answer) -> list[Step]:
        """Say it in events."""
        return [*self.events(self._items(said))]

    def events(self, items: list[ScriptedItem]) -> list[Json]:
        """The events of an answer with these items."""
        return answer(*items)

    def whole(self, said: Answer) -> Json:
        """Say it in one body."""
        response: Json = self.events(self._items(said))[-1]["response"]
        return response

    def _items(self, said: Answer) -> list[ScriptedItem]:
        items: list[ScriptedItem] = []
        thought = None
        for number, word in enumerate(said):
            match word:
                case Thinks(text) | Hides(text):
                    thought = sealed(text)
                    shown = pieces(text) if isinstance(word, Thinks) else []
                    items += self.thought(f"rs_{self.made}{number}", shown, thought)
                case Says(text):
                    items.append(message(f"msg_{self.made}{number}", *pieces(text)))
                case Calls(name, arguments):
                    call_id = self.call_id("call_{:.24}")
                    self.said[call_id] = {"name": name, "arguments": json.loads(arguments)}, thought
                    items.append(call(f"fc_{call_id[5:]}", call_id, name, *pieces(arguments)))
        return items

    def thought(self, item_id: str, shown: list[str], encrypted: str) -> list[ScriptedItem]:
        """Say a thought: what is shown of it, and what only the server can read."""
        return [reasoning(item_id, *shown, encrypted=encrypted)]

    def beside(self, ask: Ask) -> Status | None:
        """It has no other address."""
        return None if ask.path.endswith("/responses") else Status(404, self.error_body(404, "Not Found"))

    def faults(self, ask: Ask) -> list[str]:
        """Say what this server refuses."""
        body = ask.body
        items = body["input"] if isinstance(body.get("input"), list) else []
        found = super().faults(ask)
        found += [f"tools[{at}]: {fault}" for at, tool in enumerate(body.get("tools") or []) for fault in _tool(tool)]
        found += [f"input[{at}]: {fault}" for at, item in enumerate(items) for fault in self.item_faults(item)]
        found += [f"tool_choice: {fault}" for fault in self.choice_faults(body.get("tool_choice", "auto"))]
        if body.get("tool_choice") is not None and not body.get("tools"):
            found.append("a tool_choice without tools")
        return found + list(self._lost(items))

    def item_faults(self, item: Json) -> list[str]:
        """Say what of an item it refuses."""
        kind = item.get("type", "message")
        if kind not in _ITEMS:
            return [f"unknown input item type: {kind}"]
        if kind == "message" and item.get("role") not in _ROLES:
            return [f"unknown role {item.get('role')}"]
        lists = [item[key] for key in ("content", "output") if isinstance(item.get(key), list) and kind != "reasoning"]
        found = [
            f"unknown content type {part.get('type')}"
            for parts in lists
            for part in parts
            if part["type"] not in _PARTS
        ]
        if kind == "function_call":
            found += [f"{key} is no key of a call" for key in item if key in {"namespace", "input", "action"}]
            found += [] if isinstance(item.get("arguments"), str) else ["arguments must be a string"]
        if kind == "function_call_output" and not isinstance(item.get("output"), str | list):
            found.append("output must be a string or a list")
        return found

    def choice_faults(self, choice: Any) -> list[str]:
        """Say whether it refuses a tool_choice."""
        named = isinstance(choice, dict) and set(choice) == {"type", "name"} and choice["type"] == "function"
        return [] if named or choice in ("auto", "none", "required") else [f"cannot be {choice}"]

    def _lost(self, items: list[Json]) -> Iterator[str]:
        """What does not come back as it was said."""
        thoughts = {item.get("encrypted_content") for item in items if item.get("type") == "reasoning"}
        outputs = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
        for item in items:
            if item.get("type") != "function_call" or item["call_id"] not in self.said:
                continue
            made, thought = self.said[item["call_id"]]
            read = {"name": item["name"], "arguments": json.loads(item["arguments"])}  # white space may be other
            if read != made and not self.forgives:
                yield f"the call {item} was made otherwise: {made}"
            if thought is not None and thought not in thoughts and self.wants_thoughts and not self.forgives:
                yield f"the reasoning before {item['call_id']} did not come back"
            if outputs.count(item["call_id"]) != 1:
                yield f"the call {item['call_id']} has no output"

    wants_thoughts: ClassVar[bool] = False
    """Whether it refuses a call without the reasoning before it."""


def _tool(tool: Json) -> list[str]:
    if tool.get("type") != "function":
        return [f"'type' of tool must be 'function', not {tool.get('type')}"]
    found = [f"unknown key {key}" for key in tool if key not in _TOOL_KEYS]
    if not isinstance(tool.get("parameters"), dict) or tool["parameters"].get("type") != "object":
        found.append("parameters must describe an object")
    return found + (["a key that is no JSON schema"] if '"encrypted": true' in json.dumps(tool) else [])


class VllmResponses(FunctionsUpstream):
    """vLLM: it validates a request by the types of the openai package."""

    model = "Qwen/Qwen3-32B"

    def events(self, items: list[ScriptedItem]) -> list[Json]:
        """With its own last event."""
        return vllm(answer(*items))

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as vLLM does."""
        return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}


class OllamaResponses(FunctionsUpstream):
    """Ollama: what its Go types do not fit is an error."""

    model = "gpt-oss:20b"

    def faults(self, ask: Ask) -> list[str]:
        """It knows some efforts."""
        effort = (ask.body.get("reasoning") or {}).get("effort")
        unknown = [] if effort in _OLLAMA_EFFORTS else [f'invalid reasoning value: "{effort}"']
        return super().faults(ask) + unknown

    def refusal(self, ask: Ask, faults: list[str]) -> Status:
        """A namespace is a fault of the server, and of the client anything else."""
        if any("namespace" in fault for fault in faults):
            return Status(500, self.error_body(500, "; ".join(faults)))
        return super().refusal(ask, faults)

    def item_faults(self, item: Json) -> list[str]:
        """It reads arguments as an object."""
        found = super().item_faults(item)
        if item.get("type") == "function_call" and not found and not isinstance(json.loads(item["arguments"]), dict):
            found.append("failed to parse function call arguments")
        return found

    def choice_faults(self, choice: Any) -> list[str]:
        """It reads none. This server is stricter: it says so where one tool is named."""
        return [] if isinstance(choice, str) else ["no tool can be named"]


class DeepSeekResponses(FunctionsUpstream):
    """DeepSeek: in a tool loop it wants the reasoning back."""

    model = "deepseek-flash"
    base_path = ""
    wants_thoughts = True

    def faults(self, ask: Ask) -> list[str]:
        """Its address has no version."""
        return super().faults(Ask(f"/v1{ask.path}", ask.headers, ask.body, ask.raw))


class LlamaCppResponses(FunctionsUpstream):
    """llama.cpp: it turns a request into one for chat completions."""

    model = "model.gguf"

    def events(self, items: list[ScriptedItem]) -> list[Json]:
        """Without positions."""
        return llama_cpp(answer(*items))

    def thought(self, item_id: str, shown: list[str], encrypted: str) -> list[ScriptedItem]:
        """Say it as text."""
        if not shown:
            return []
        whole = {"type": "reasoning_text", "text": "".join(shown)}
        deltas = [{"type": "response.reasoning_text.delta", "content_index": 0, "delta": text} for text in shown]
        born = {"id": item_id, "type": "reasoning", "status": "in_progress", "summary": [], "content": []}
        return [ScriptedItem(deltas, born, {**born, "status": "completed", "content": [whole]})]

    def item_faults(self, item: Json) -> list[str]:
        """It does not guess types, and reads the text of reasoning alone."""
        found = super().item_faults(item)
        if item.get("role") == "assistant" and item.get("type") is None:
            found.append("cannot determine the type of the item")
        if item.get("type") == "reasoning" and not (isinstance(item.get("content"), list) and item["content"]):
            found.append("item['content'] is not an array")
        return found

    def choice_faults(self, choice: Any) -> list[str]:
        """It takes an object for `auto`. This server is stricter."""
        return [] if isinstance(choice, str) else ["Tool choice must be a string"]


FUNCTION_SERVERS: Final[dict[str, type[FunctionsUpstream]]] = {
    "deepseek": DeepSeekResponses,
    "llama_cpp": LlamaCppResponses,
    "ollama": OllamaResponses,
    "vllm": VllmResponses,
}
"""By the names of their providers."""
