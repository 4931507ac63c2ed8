"""Chat servers: the bytes of their answers -> chunks, with the tolerances that real ones need.

A stream without a finish reason was usually cut. But Snowflake's Claude gives none in any answer, and Novita behind
OpenRouter none after a call: they send usage after the last content, and then `[DONE]`. Such an answer is whole.
"""

from typing import Any

from ...prompt.nouns import Model, Prompt
from ...types.json import Json, as_object, without
from ..frames import Frames, NotAnAnswerError
from ..record import Counter, Dialect, Translation
from .body import body
from .reader import UNSTATED, ChunkReader
from .state import FORM

_OTHER_KEYS = ("usage", "timings", "citations", "search_results")
"""The keys of an answer, other than `choices`, that are read."""
_NO_CONTENT = frozenset({"annotations", "extra_content", "provider_specific_fields", "role"})
"""Keys of a delta that add no content to the answer."""
_SAID = ("text", "thinking", "summary", "image_url", "url", "function", "name", "arguments")
"""The names of content within a part, a detail of reasoning, or a call. Others are types, ids and signatures."""


class ChatFrames(Frames):
    """Reads one answer."""

    def __init__(self, _asked: Json | None = None) -> None:
        super().__init__()
        self._begun = False
        """Whether a chunk came."""
        self._named = False
        """Whether a finish reason came."""
        self._counted = False
        """Whether usage was reported, and no content after it."""

    def _whole(self, answer: Json) -> list[Json]:
        return self._taken(answer if failure(answer) else _chunk(answer))

    def _ended(self) -> list[Json]:
        whole_without = self._counted and not self._named
        return [{"choices": [{"index": 0, "delta": {}, "finish_reason": UNSTATED}]}] if whole_without else []

    def _taken(self, chunk: Json) -> list[Json]:
        """The chunk as it is to be read: an error beside content comes after the content."""
        error = chunk.get("error")
        if error and isinstance(error, dict) and not any(error.values()):  # some servers add it to every chunk
            chunk = without(chunk, "error")
        elif error and chunk.get("choices"):
            return _split(chunk, begun=self._begun)
        self._begun = True
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        self._named = self._named or bool(choice.get("finish_reason"))
        if choice.get("finish_reason") and self._halves:  # of a character that no other half follows
            said = as_object(choice.get("delta"))
            names = [str(path[3]) for path in self._halves if len(path) == 4]
            choice["delta"] = said | {name: f"{said.get(name) or ''}\ufffd" for name in names}
        if self._counted or chunk.get("usage"):
            counts = as_object(chunk.get("usage")).values()
            counted = self._counted or any(type(count) is int and count > 0 for count in counts)
            self._counted = counted and not _has_content(choice)
        return [chunk]


def failure(chunk: Json) -> Any:
    """The error that this chunk is, and nothing else; None if it is none."""
    if chunk.get("choices"):
        return None
    return chunk.get("error") or (chunk if chunk.get("object") == "error" else None)


def _chunk(answer: Json) -> Json:
    """An answer that was not streamed although a stream was requested, as one chunk."""
    try:
        choice = answer["choices"][0]
        delta = dict(choice["message"])
    except (KeyError, IndexError, TypeError, ValueError):
        raise NotAnAnswerError("the answer is no chat completion") from None
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls) if isinstance(call, dict)]
    only = {"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason") or UNSTATED}
    if choice.get("logprobs"):
        only["logprobs"] = choice["logprobs"]
    return {"choices": [only], **{key: answer[key] for key in (*_OTHER_KEYS, "error") if answer.get(key)}}


def _split(chunk: Json, *, begun: bool) -> list[Json]:
    """The content of a chunk, and then its error. Before anything else, a chunk without content is its error."""
    choices = chunk["choices"]
    choice = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
    has_content = _has_content(choice) or (begun and bool(choice))
    content: Json = {"choices": []}
    if has_content:
        content["choices"] = [without(choice, "finish_reason")]
    if begun or has_content:
        content |= {key: chunk[key] for key in _OTHER_KEYS if chunk.get(key)}
    error = {"error": chunk["error"]}
    return [content, error] if content != {"choices": []} else [error]


def _has_content(choice: Json) -> bool:
    """Whether this choice has any content. Snowflake also sends a `function_call` of empty strings."""
    delta = choice.get("delta") or choice.get("message")
    return isinstance(delta, dict) and any(_says(held) for name, held in delta.items() if name not in _NO_CONTENT)


def _says(held: Any) -> bool:
    """Whether anything is said in this: in parts, details and calls, only what is under some of their names."""
    if isinstance(held, list):
        return any(map(_says, held))
    return any(_says(held.get(name)) for name in _SAID) if isinstance(held, dict) else bool(held)


def _reader(prompt: Prompt, model: Model, keeps_state: bool) -> ChunkReader:
    logprobs = "logprobs" in prompt.sampling
    return ChunkReader(think_tags=model.settings.think_tags, logprobs=logprobs, keeps_state=keeps_state)


def _unstreamed(body: Json) -> Json:
    return without(body, "stream", "stream_options")


def _tokenized(body: Json) -> Json:
    """VLLM reads earlier reasoning from one of two fields, by its version."""
    sent: Json = {name: body[name] for name in ("model", "messages", "tools") if name in body}
    thoughts = [each.get("reasoning_content") or each.get("reasoning") for each in body["messages"]]
    sent["messages"] = [
        {**each, "reasoning": thought, "reasoning_content": thought} if thought else each
        for each, thought in zip(body["messages"], thoughts, strict=True)
    ]
    return sent


_COUNTERS = (
    Counter("/chat/completions/input_tokens", "input_tokens", _unstreamed),  # llama.cpp
    Counter("/tokenize", "count", _tokenized, beside_v1=True),  # vLLM
)
TRANSLATION = Translation(body, _reader, FORM)
CHAT = Dialect("/chat/completions", ChatFrames, failure, ("messages", "tools"), TRANSLATION, _COUNTERS)
