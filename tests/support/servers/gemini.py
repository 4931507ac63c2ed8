"""A Gemini server that refuses what the real one refuses, and the chunks of its streams."""

import json
import re
from typing import Any, Final

from tests.support.servers.server import Ask, Json, ScriptedUpstream

_PATH: Final = re.compile(r"/v1(beta)?/models/[^/?]+:streamGenerateContent\?(.*&)?alt=sse")
_WHOLE_PATH: Final = re.compile(r"/v1(beta)?/models/[^/?]+:generateContent(\?|\Z)")
_SETTINGS: Final = frozenset(
    {
        "cachedContent", "contents", "generationConfig", "generation_config", "labels", "safetySettings",
        "safety_settings", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "tools",
    }
)  # fmt: skip
_PARTS: Final = {
    "text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data",
    "fileData", "file_data",
}  # fmt: skip


class GeminiUpstream(ScriptedUpstream):
    """`POST /v1beta/models/…:streamGenerateContent?alt=sse`. A dict of the script is one response chunk."""

    base_path = ""

    def faults(self, ask: Ask) -> list[str]:
        """Say what Gemini would refuse."""
        if not (_PATH.match(ask.path) or (self.speaks_whole and _WHOLE_PATH.match(ask.path))):
            return [f"there is no {ask.path}"]
        body = ask.body
        found = [f"unknown parameter {key}" for key in body if key not in _SETTINGS]
        if "tools" in body and not body["tools"]:
            found.append("tools must not be empty")
        contents = body.get("contents") or []
        if not contents:
            found.append("contents must not be empty")
        calls = 0
        for seat, content in enumerate(contents):
            parts = content.get("parts") or []
            if content.get("role") not in {"user", "model"} or not parts:
                found.append(f"contents[{seat}] has a wrong role or no parts")
            found += [f"contents[{seat}] has an unknown part: {part}" for part in parts if not _PARTS & part.keys()]
            answers = _count(parts, "functionResponse", "function_response")
            if answers != calls:
                found.append(f"contents[{seat}] has {answers} function responses for {calls} calls")
            calls = _count(parts, "functionCall", "function_call")
        return [*found, "the last calls have no responses"] if calls else found

    def frame(self, step: Json, ask: Ask) -> bytes:  # noqa: ARG002 — the other wire formats fill in from it
        """Frame one chunk."""
        return b"data: " + json.dumps(step).encode() + b"\r\n\r\n"

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Gemini does."""
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}


def _count(parts: list[Json], *names: str) -> int:
    return sum(1 for part in parts if part.keys() & set(names))


def answers(*parts: Json, finish: str = "", **usage: Any) -> Json:
    """One chunk of a candidate's parts, why it ended if it did, and the counts so far."""
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    chunk: Json = {"candidates": [candidate], "modelVersion": "gemini-scripted", "responseId": "r1"}
    if usage:
        chunk["usageMetadata"] = usage
    return chunk
