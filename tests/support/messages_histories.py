"""Ten histories, and the bodies that a server of the Messages API is asked for them."""

from typing import Final, NamedTuple

from app.compaction.remaining_history import Window, sealed_window
from app.compaction.summary_text import INTRODUCTION
from app.dialects.messages.block_state import BLOCKS, FORM
from app.emitter.open_reasoning import StatePiece
from app.prompt.sealed_state import StateSealer
from tests.support.chat_requests import call, output, user
from tests.support.emitters import ReadableSealer
from tests.support.messages_blocks import (
    ANYTHING,
    CLOSED,
    PIXEL,
    Json,
    block,
    body,
    by_model,
    by_user,
    gave,
    past,
    picture,
    used,
    words,
)
from tests.support.messages_requests import MODEL

PDF: Final = "application/pdf"
MISSING: Final = "no output recorded"


def assistant_message(*parts: Json) -> Json:
    """A message of the assistant."""
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(words: str) -> Json:
    """A part of such a message."""
    return {"type": "output_text", "text": words, "annotations": []}


def thought(words: str) -> Json:
    """Reasoning of this server's own model, as a client carries it."""
    sealer = StateSealer(ReadableSealer(), FORM, origin="messages", model=MODEL, one_maker=True)
    sealed = sealer.seal(words, [StatePiece({BLOCKS: [block(words)]})])
    return {"type": "reasoning", "summary": [], "encrypted_content": sealed}


def foreign_thought(words: str) -> Json:
    """Reasoning of a model elsewhere."""
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}]}


class History(NamedTuple):
    """A request, and what becomes of it."""

    request: Json
    body: Json
    warnings: tuple[str, ...] = ()


HISTORIES: Final[dict[str, History]] = {
    "text, with settings": History(
        {
            "instructions": "Be brief.",
            "input": [user("Hi"), assistant_message(text("Hello."), text("You?")), user("Fine.")],
            "temperature": 0,
            "max_output_tokens": 100,
            "reasoning": {"effort": "high"},
            "safety_identifier": "u1",
            "service_tier": "default",
            "presence_penalty": 1,
            "tools": [{"type": "web_search", "user_location": {"type": "approximate", "country": "DE"}}],
        },
        body(
            by_user(words("Hi")),
            by_model(words("Hello."), words("You?")),
            by_user(words("Fine.")),
            system=[words("Be brief.")],
            max_tokens=100,
            thinking={"type": "adaptive"},
            output_config={"effort": "high"},
            metadata={"user_id": "u1"},
            service_tier="standard_only",
            tools=[
                {
                    "type": "web_search_20250305",
                    "name": "web_search",
                    "user_location": {"type": "approximate", "country": "DE"},
                }
            ],
        ),
        ("'temperature' has no effect on this model.", "'presence_penalty' has no effect on this model."),
    ),
    "parallel calls with outputs in any order": History(
        {
            "input": [
                user("Go"),
                call("a", arguments='{"x": 1}'),
                call("b"),
                output("b"),
                output("a", ""),
                user("And?"),
            ],
            "tools": [{"type": "function", "name": "f", "description": "F.", "parameters": CLOSED, "strict": True}],
            "parallel_tool_calls": False,
        },
        body(
            by_user(words("Go")),
            by_model(used("a", x=1), used("b")),
            by_user(gave("a", words("(no output)")), gave("b", words("done")), words("And?")),
            tools=[{"name": "f", "input_schema": CLOSED, "description": "F.", "strict": True}],
            tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        ),
    ),
    "thoughts between texts and calls, each with its signature": History(
        {
            "input": [
                user("Go"),
                thought("one"),
                assistant_message(text("First.")),
                call("a"),
                thought("two"),
                call("b"),
                output("a"),
                output("b"),
                foreign_thought("three"),
                assistant_message(text("Done.")),
                user("Thanks"),
            ],
            "reasoning": {"effort": "low"},
        },
        body(
            by_user(words("Go")),
            by_model(block("one"), words("First."), used("a"), block("two"), used("b")),
            by_user(gave("a", words("done")), gave("b", words("done"))),
            by_model(words("Done.")),
            by_user(words("Thanks")),
            thinking={"type": "adaptive"},
            output_config={"effort": "low"},
            **past("f"),
        ),
        ("input[8] was left out: this model's server takes back only reasoning that it signed itself.",),
    ),
    "a refusal": History(
        {"input": [user("Do it"), assistant_message({"type": "refusal", "refusal": "No."}), user("Please")]},
        body(by_user(words("Do it")), by_model(words("No.")), by_user(words("Please"))),
    ),
    "images and files in the outputs of tools": History(
        {
            "input": [
                user("Look"),
                call("a"),
                output(
                    "a",
                    [
                        {"type": "input_text", "text": "Here:"},
                        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                        {
                            "type": "input_file",
                            "filename": "a.pdf",
                            "file_data": f"data:{PDF};base64,JVBERg==",
                        },
                        {"type": "input_file", "filename": "b.pdf", "file_url": "https://example.com/b.pdf"},
                    ],
                ),
            ]
        },
        body(
            by_user(words("Look")),
            by_model(used("a")),
            by_user(
                gave(
                    "a",
                    words("Here:"),
                    picture(),
                    {
                        "type": "document",
                        "title": "a.pdf",
                        "source": {"type": "base64", "media_type": PDF, "data": "JVBERg=="},
                    },
                    {
                        "type": "document",
                        "title": "b.pdf",
                        "source": {"type": "url", "url": "https://example.com/b.pdf"},
                    },
                )
            ),
            **past("f"),
        ),
    ),
    "outputs without calls, and a call without an output": History(
        {"input": [output("lost", "42"), user("Go"), call("a"), assistant_message(text("Wait.")), user("Well?")]},
        body(
            by_user(
                words("Output of the tool call 'lost', which is not in the history:\n42"),
                words("Go"),
            ),
            by_model(used("a"), words("Wait.")),
            by_user(gave("a", words(MISSING)), words("Well?")),
            **past("f"),
        ),
        (
            "input[0] is sent as a message: its call is not in the history.",
            "input[2] has no output in the history: the model reads that none was recorded.",
        ),
    ),
    "a custom tool": History(
        {
            "input": [
                user("Patch"),
                {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** a"},
                {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"},
            ],
            "tools": [{"type": "custom", "name": "patch"}],
        },
        body(
            by_user(words("Patch")),
            by_model(used("a", "patch", input="*** a")),
            by_user(gave("a", words("ok"))),
            tools=[
                {
                    "name": "patch",
                    "description": "Pass the whole input, exactly as it is to be, as the string `input`.",
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "input": {"type": "string", "description": "The whole input of the tool, as plain text."}
                        },
                        "required": ["input"],
                        "additionalProperties": False,
                    },
                }
            ],
        ),
    ),
    "a system message in the middle": History(
        {
            "instructions": "A.",
            "input": [
                {"role": "developer", "content": "B."},
                user("Hi"),
                {"role": "system", "content": "C."},
                assistant_message(text("Yes.")),
                user("Go"),
            ],
        },
        body(
            by_user(words("Hi"), words("<system>\nC.\n</system>")),
            by_model(words("Yes.")),
            by_user(words("Go")),
            system=[words("A."), words("B.")],
        ),
    ),
    "a conversation that was summed up": History(
        {
            "input": [
                user("Long ago"),
                assistant_message(text("Yes.")),
                {
                    "type": "compaction",
                    "encrypted_content": sealed_window(Window(summary="It was long."), ReadableSealer()),
                },
                user("Go on"),
            ]
        },
        body(by_user(words("Long ago"), words(f"{INTRODUCTION}\n\nIt was long."), words("Go on"))),
    ),
    "a demanded call and a format": History(
        {
            "input": "Hi",
            "tools": [{"type": "function", "name": name, "parameters": {}} for name in ("f", "g")],
            "tool_choice": {"type": "function", "name": "g"},
            "text": {"format": {"type": "json_schema", "name": "n", "schema": CLOSED}},
        },
        body(
            by_user(words("Hi")),
            tools=[{"name": name, "input_schema": ANYTHING} for name in ("f", "g")],
            tool_choice={"type": "tool", "name": "g"},
            output_config={"format": {"type": "json_schema", "schema": CLOSED}},
        ),
    ),
}
