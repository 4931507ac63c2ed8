"""What Anthropic's Messages API refuses in the body of a request, whatever its model said before."""

import re
from typing import Any, Final

from tests.wire.servers.anthropic_schemas import schema_faults

Json = dict[str, Any]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+\Z")
_THINKS_ONLY_IF_ASKED: Final = re.compile(r"claude-(?:\w+-)?[34]\b")
"""Models that refuse, in an open tool loop, thoughts that were not asked for."""
_NO_LATE_SYSTEM: Final = re.compile(r"claude-(?:\w+-)?(?:3|4-[0-7]\b|4\b(?!-8))")
_SETTINGS: Final = frozenset(
    {
        "max_tokens", "messages", "metadata", "model", "output_config", "output_format", "service_tier",
        "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
    }
)  # fmt: skip
_BLOCKS: Final = {
    "user": {"text", "image", "document", "tool_result"},
    "system": {"text"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result"},
}
THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_CITED: Final = ("type", "url", "cited_text", "encrypted_index")
MOST_MARKS: Final = 4
"""Blocks with `cache_control` that one request may have."""
LEAST_BUDGET: Final = 1024
LEAST_TOP_P: Final = 0.95
"""With thinking."""


def body_faults(body: Json) -> list[str]:
    """Everything that is wrong with this body."""
    found = [f"unknown parameter {key}" for key in body if key not in _SETTINGS]
    if not isinstance(body.get("max_tokens"), int):
        found.append("max_tokens is required")
    messages = body.get("messages") or []
    return [
        *found,
        *_thinking_faults(body),
        *_tool_faults(body),
        *schema_faults(body),
        *_mark_faults(body),
        *_system_faults(body),
        *_message_faults(messages),
        *_late_system_faults(body),
        *_loop_faults(body),
    ]


def thinks(body: Json) -> bool:
    """Whether the model is asked to think."""
    return (body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}


def _thinking_faults(body: Json) -> list[str]:
    """What may not be asked of a model that thinks."""
    thinking = body.get("thinking") or {}
    if not thinks(body):
        return []
    found = []
    has_budget = thinking["type"] == "enabled"
    if has_budget and not LEAST_BUDGET <= thinking.get("budget_tokens", 0) < (body.get("max_tokens") or 0):
        found.append(f"thinking.budget_tokens must be at least {LEAST_BUDGET} and less than max_tokens")
    if has_budget and (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        found.append("Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature", 1) != 1:
        found.append("`temperature` may only be set to 1 when thinking is enabled.")
    if "top_k" in body:
        found.append("`top_k` must be unset when thinking is enabled.")
    if body.get("top_p", 1) < LEAST_TOP_P:
        found.append(f"`top_p` must be at least {LEAST_TOP_P} or unset when thinking is enabled.")
    return found


def _tool_faults(body: Json) -> list[str]:
    if "tools" not in body:
        blocks = [block for message in body.get("messages") or [] for block in _blocks(message)]
        used = any(block.get("type") in {"tool_use", "tool_result"} for block in blocks)
        found = ["tool_choice without tools"] if "tool_choice" in body else []
        return [*found, "past calls need tools"] if used else found
    if not body["tools"]:
        return ["tools must not be empty"]
    names = [tool.get("name") for tool in body["tools"]]
    found = [f"tool name {name} is malformed" for name in names if not _NAME.match(str(name))]
    if len(set(names)) < len(names):
        found.append("tools: Tool names must be unique.")
    choice = body.get("tool_choice") or {}
    if choice.get("type") == "tool" and choice.get("name") not in names:
        found.append(f"Tool '{choice.get('name')}' not found in provided tools")
    return found + [
        f"tool {tool['name']} has no input_schema of an object"
        for tool in body["tools"]
        if "type" not in tool and (tool.get("input_schema") or {}).get("type") != "object"
    ]


def _mark_faults(body: Json) -> list[str]:
    """Where the prompt may be cached."""
    blocks = [block for message in body.get("messages") or [] for block in _blocks(message)]
    within = [each for block in blocks if isinstance(block.get("content"), list) for each in block["content"]]
    system = body.get("system")
    marked = [
        block
        for block in (*body.get("tools", ()), *(system if isinstance(system, list) else ()), *blocks, *within)
        if isinstance(block, dict) and block.get("cache_control") is not None
    ]
    found = [f"cache_control is not allowed for {block['type']}" for block in marked if block.get("type") in THOUGHTS]
    if len(marked) > MOST_MARKS:
        found.append(f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marked)}.")
    return found


def _system_faults(body: Json) -> list[str]:
    system = body.get("system")
    blocks = [] if system is None else _blocks({"content": system})
    return [
        f"system.{place}: a text block is blank or no text"
        for place, block in enumerate(blocks)
        if block.get("type") != "text" or not block["text"].strip()
    ]


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _message_faults(messages: list[Json]) -> list[str]:
    if not messages or messages[0].get("role") != "user":
        return ["the first message must be the user's"]
    found = []
    waiting: set[str] = set()
    made: set[str] = set()
    for position, message in enumerate(messages):
        role = str(message.get("role"))
        blocks = _blocks(message)
        if role not in _BLOCKS:
            found.append(f"messages[{position}].role {role} is not known")
            continue
        if not blocks:
            found.append(f"messages[{position}].content is empty")
        faults = [fault for block in blocks for fault in (*_block_faults(block, role), *_search_faults(block))]
        found += [f"messages[{position}]: {fault}" for fault in faults]
        results = [block.get("type") == "tool_result" for block in blocks]
        if results != sorted(results, reverse=True):
            found.append(f"messages[{position}]: tool_result blocks must come first")
        answered = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        if set(answered) != waiting or len(set(answered)) < len(answered):
            found.append(f"messages[{position}] answers {sorted(answered)}, but the open calls are {sorted(waiting)}")
        searches = [block["id"] for block in blocks if block.get("type") == "server_tool_use"]
        found_by = [block["tool_use_id"] for block in blocks if block.get("type") == "web_search_tool_result"]
        if searches != found_by and position + 1 < len(messages):  # the last message may be a paused one
            found.append(f"messages[{position}]: `web_search` tool use without a `web_search_tool_result` block")
        calls = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        if len({*calls} - made) < len(calls):
            found.append(f"messages[{position}]: `tool_use` ids must be unique")
        waiting = {*calls}
        made |= waiting
    return [*found, f"the calls {sorted(waiting)} have no results"] if waiting else found


def _late_system_faults(body: Json) -> list[str]:
    """Where the role `system` may not stand."""
    messages = body.get("messages") or []
    roles = [message.get("role") for message in messages]
    found = []
    if "system" in roles and _NO_LATE_SYSTEM.match(str(body.get("model"))):
        found.append("role 'system' is not supported on this model")
    for position, role in enumerate(roles):
        around = (*roles[max(position - 1, 0) : position], *(roles[position + 1 : position + 2] or ["assistant"]))
        if role == "system" and around != ("user", "assistant"):
            found.append(f"messages[{position}]: a `system` message must follow the user's and precede the assistant's")
    return found


def _block_faults(block: Json, role: str) -> list[str]:
    """What is wrong with one block by itself."""
    kind = block.get("type")
    if kind not in _BLOCKS[role]:
        return [f"block {kind} is not allowed for {role}"]
    match kind:
        case "text" if not block["text"].strip():
            return ["a text block is blank"]
        case "tool_use" if not (_ID.match(block["id"]) and isinstance(block["input"], dict)):
            return ["a tool_use block is malformed"]
        case "tool_result" if any(part.get("type") == "text" and not part["text"] for part in _blocks(block)):
            return ["a text block of a result is empty"]
        case "thinking" | "redacted_thinking":
            needed = ("thinking", "signature") if kind == "thinking" else ("data",)
            return [f"{kind}.{key}: Field required" for key in needed if not _is_text(block, key)]
        case _:
            return []


def _search_faults(block: Json) -> list[str]:
    """What lacks in a search's result, or in a citation of it."""
    content = block.get("content")
    pages = content if block.get("type") == "web_search_tool_result" and isinstance(content, list) else []
    citations = block.get("citations") or []
    return [
        *["encrypted_content: Field required" for page in pages if not page.get("encrypted_content")],
        *[f"citations.{key}: Field required" for each in citations for key in _CITED if not _is_text(each, key)],
    ]


def _is_text(block: Json, key: str) -> bool:
    """Whether this text is there. Thoughts whose text is left out are empty, but signed."""
    value = block.get(key)
    return isinstance(value, str) and (bool(value) or key == "thinking")


def _loop_faults(body: Json) -> list[str]:
    """Say what Anthropic says of a tool loop that began with thoughts and goes on without, or the other way round."""
    turns: list[list[Json]] = []
    for message in body.get("messages") or []:
        blocks = _blocks(message)
        if message.get("role") == "user" and not any(held.get("type") == "tool_result" for held in blocks):
            turns = []  # a loop ends where the user speaks
        elif message.get("role") == "assistant":
            turns.append(blocks)
    last = turns[-1] if turns else []
    if not any(held.get("type") == "tool_use" for held in last):
        return []
    first = turns[0][0].get("type") if turns[0] else "text"
    thinking = (body.get("thinking") or {}).get("type")
    if thinking == "enabled" and first not in THOUGHTS and last[0].get("type") not in THOUGHTS:
        return [
            f"Expected `thinking` or `redacted_thinking`, but found `{first}`, which a final assistant message begins."
        ]
    only_if_asked = _THINKS_ONLY_IF_ASKED.match(str(body.get("model")))
    if not thinks(body) and only_if_asked and any(held.get("type") in THOUGHTS for held in last):
        return ["When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."]
    return []
