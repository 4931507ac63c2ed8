"""A Gemini server that refuses what the real one refuses, and the chunks of its streams."""

import base64
import json
import re
from typing import Any, Final

from tests.wire.servers.model import (
    CACHED,
    COMPLETION,
    PROMPT,
    REASONING,
    Answer,
    Calls,
    Count,
    Hides,
    ModelUpstream,
    Says,
    Thinks,
    arguments_of,
    pieces,
    sealed,
    shortened,
)
from tests.wire.servers.steps import Ask, Json, Step

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
_MODEL: Final = re.compile(r"/models/([^/:]+):")
FOREIGN: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What Google's documentation lets stand in for the signature of a call that another model made."""
MISSING: Final = "Function call is missing a thought_signature in functionCall parts."
_USAGE: Final = {
    "promptTokenCount": PROMPT,
    "cachedContentTokenCount": CACHED,
    "candidatesTokenCount": COMPLETION - REASONING,
    "thoughtsTokenCount": REASONING,
    "totalTokenCount": PROMPT + COMPLETION,
}


class GeminiUpstream(ModelUpstream):
    """`POST /v1beta/models/…:streamGenerateContent?alt=sse` and `:generateContent`. A dict of a script is one chunk.

    As a model it is a Gemini 3: the first call of every step carries a thought signature, which must come back on that
    very part.
    """

    model = "gemini-3-pro-preview"
    count = Count(cached=CACHED, reasoning=REASONING)

    def forget(self) -> None:
        """Forget what was said."""
        self.said: list[tuple[Json, str | None]] = []
        """Every call, and its signature if it got one."""
        self.signatures: set[str] = set()

    def key_of(self, ask: Ask) -> str | None:
        """Google has a header of its own, and a query parameter that leaks into logs: it is not taken here."""
        return ask.headers.get("x-goog-api-key")

    def wants_stream(self, ask: Ask) -> bool:
        """The path says it."""
        return ":streamGenerateContent" in ask.path

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it part by part; a call is never cut."""
        chunks: list[Step] = []
        for part in self._parts(answer):
            cut = pieces(part["text"]) if part.get("text") else None
            chunks += [answers({**part, "text": piece}) for piece in cut] if cut else [answers(part)]
        return [*chunks, answers({"text": ""}, finish="STOP", **_USAGE)]

    def whole(self, answer: Answer) -> Json:
        """Say it in one body."""
        return answers(*self._parts(answer), finish="STOP", **_USAGE)

    def _parts(self, answer: Answer) -> list[Json]:
        thoughts = "".join(word.text for word in answer if isinstance(word, Thinks | Hides))
        called = any(isinstance(word, Calls) for word in answer)
        unused = [sealed(thoughts)] if thoughts or called else []  # a Gemini 3 always thinks before it calls
        parts: list[Json] = []
        for word in answer:
            match word:
                case Thinks(text):
                    parts.append({"text": text, "thought": True})
                case Says(text):
                    parts.append({"text": text})
                case Calls(name):
                    part: Json = {"functionCall": {"name": name, "args": arguments_of(word)}}
                    signature = unused.pop() if unused else None
                    self.said.append((part["functionCall"], signature))
                    parts.append({**part, "thoughtSignature": signature} if signature else part)
                case Hides():
                    pass
        if unused:  # there was no call: it stands at the end
            parts.append({"text": "", "thoughtSignature": unused[0]})
        self.signatures |= {part["thoughtSignature"] for part in parts if "thoughtSignature" in part}
        return parts

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
        for index, content in enumerate(contents):
            parts = content.get("parts") or []
            if content.get("role") not in {"user", "model"} or not parts:
                found.append(f"contents[{index}] has a wrong role or no parts")
            found += [f"contents[{index}] has an unknown part: {part}" for part in parts if not _PARTS & part.keys()]
            answers = _count(parts, "functionResponse", "function_response")
            if answers != calls:
                found.append(f"contents[{index}] has {answers} function responses for {calls} calls")
            calls = _count(parts, "functionCall", "function_call")
        if calls:
            found.append("the last calls have no responses")
        return found + self._memory_faults(ask) if self.plays_model else found

    def _memory_faults(self, ask: Ask) -> list[str]:
        """Refuse calls without their signature, and signatures that were never given."""
        found: list[str] = []
        if (named := _MODEL.search(ask.path)) and named[1] != self.model:
            found.append(f"models/{named[1]} is not found")
        for index, content in enumerate(ask.body.get("contents") or []):
            if content.get("role") != "model":
                continue
            signatures = [_signature(part) for part in content["parts"]]
            found += [
                f"contents[{index}]: Corrupted thought signature: {shortened(signature)}"
                for signature in signatures
                if signature not in self.signatures | {None, FOREIGN}
            ]
            calls = [part for part in content["parts"] if _call(part)]
            if calls and _signature(calls[0]) is None:
                found.append(f"contents[{index}]: {MISSING} Additional data, function call {_call(calls[0])}")
            found += [f"contents[{index}]: {fault}" for part in calls for fault in self._call_faults(part)]
        return found

    def _call_faults(self, part: Json) -> list[str]:
        call = {key: value for key, value in (_call(part) or {}).items() if key in {"name", "args"}}
        signed = [signature for entry, signature in self.said if entry == call]
        if signed and _signature(part) not in signed and not self.forgives:
            return [f"the call {call} was signed {shortened(signed)}, not {shortened(_signature(part))}"]
        return []

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame one chunk as Google does, without escapes."""
        return b"data: " + json.dumps(step, ensure_ascii=False).encode() + b"\r\n\r\n"

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Google does."""
        name = "UNAUTHENTICATED" if status == 401 else "INVALID_ARGUMENT"
        return {"error": {"code": status, "message": message, "status": name}}


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


def _call(part: Json) -> Json | None:
    return part.get("functionCall") or part.get("function_call")


def _signature(part: Json) -> str | None:
    return part.get("thoughtSignature") or part.get("thought_signature")
