"""What the tiny model says, and to which request.

The chat template chooses: where the last message contains the words of `WHEN`, it ends the prompt with the token of
that answer. The model goes on from there, one token after the other.
"""

import json
from typing import Final


def _call(name: str, arguments: dict[str, object]) -> str:
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) + "\n</tool_call>"


PATCH: Final = "*** Begin Patch\n*** Add File: made.txt\n+written by a tiny model\n*** End Patch\n"

_REPEATED: Final = " All work and no play makes a model say this sentence again."

ANSWERS: Final[dict[str, str]] = {
    "greeting": "Hello! 👋🏽 你好, wörld — naïve café ✨ and 🇩🇪.",
    "thought": "<think>The user wants a number. Six times seven is forty-two.</think>The answer is 42.",
    "call": _call("get_weather", {"city": "Paris"}),
    "published call": _call("get_weather", {"location": "San Francisco"}),
    "published custom call": _call("say", {"input": "Good morning."}),
    "two calls": _call("get_weather", {"city": "Rome"}) + "\n" + _call("get_time", {"zone": "Asia/Tokyo"}),
    "words and a call": "I will look that up for you. " + _call("get_weather", {"city": "Oslo"}),
    "thought and a call": "<think>I need today's weather.</think>" + _call("get_weather", {"city": "Lima"}),
    "nested call": _call("book", {"trip": {"from": 'the "old" town', "stops": ["a\\b", "ü\n2"], "seats": 2}}),
    "json": '{"name": "Ada", "age": 36, "tags": ["math", "poetry"]}',
    "command": _call("exec_command", {"cmd": "echo seen by a tiny model"}),
    "patch": _call("apply_patch", {"input": PATCH}),
    "tool output": "The tool has answered, and that is all I wanted to know.",
    "summary": "Summary: the user asked about the weather, and a tool was called.",
    "text without end": _REPEATED,
    "thought without end": "<think>" + _REPEATED,
    "otherwise": "I am a tiny model, and I know only a few answers.",
}
"""An answer without a thought has an empty one in front, because some parsers of thoughts wait for its end."""

WITHOUT_END: Final = {"text without end", "thought without end"}
"""These are said again and again."""

WHEN: Final[tuple[tuple[str, str], ...]] = (
    ("say hello", "greeting"),
    ("think about it", "thought"),
    ("weather in Paris", "call"),
    ("weather like in San Francisco", "published call"),
    ("Say good morning", "published custom call"),
    ("Count from 1 to 500", "text without end"),
    ("weather and time", "two calls"),
    ("weather in Oslo", "words and a call"),
    ("weather in Lima", "thought and a call"),
    ("book a trip", "nested call"),
    ("as JSON", "json"),
    ("run a command", "command"),
    ("write a patch", "patch"),
    ("never stop thinking", "thought without end"),
    ("never stop", "text without end"),
    ("ummar", "summary"),
)
"""The first one found in the last message decides. A tool's output is answered by `tool output`."""


def control_token(answer: str) -> str:
    """The token that ends a prompt to which the model gives this answer."""
    return f"<|{answer.replace(' ', '_')}|>"


def chat_template() -> str:
    """The Jinja template: Qwen's format of messages and tools, then the token of the answer.

    Of a prompt longer than 2,500 characters the model sees only the last message: every byte is a token.
    """
    choice = "{%- if last.role == 'tool' -%}" + control_token("tool output")
    for words, answer in WHEN:
        choice += f"{{%- elif {json.dumps(words)} in said.text -%}}{control_token(answer)}"
    choice += "{%- else -%}" + control_token("otherwise") + "{%- endif -%}"
    return _MESSAGES + choice


_MESSAGES: Final = """\
{%- macro text_of(content) -%}
{%- if content is string -%}{{ content }}
{%- elif content -%}{%- for part in content -%}{{ part.text if part.text is defined else '' }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- set last = messages[-1] -%}
{%- set said = namespace(text=text_of(last.content), whole='') -%}
{%- if tools -%}
{%- set said.whole = '<|im_start|>tools\\n' ~ (tools | tojson) ~ '<|im_end|>\\n' -%}
{%- endif -%}
{%- for message in messages -%}
{%- set said.whole = said.whole ~ '<|im_start|>' ~ message.role ~ '\\n' -%}
{%- set thought = message.reasoning_content or message.reasoning -%}
{%- if thought is string -%}{%- set said.whole = said.whole ~ '<think>' ~ thought ~ '</think>' -%}{%- endif -%}
{%- set said.whole = said.whole ~ text_of(message.content) -%}
{%- if message.tool_calls -%}
{%- for call in message.tool_calls -%}
{%- set function = call.function if call.function is defined else call -%}
{%- set said.whole = said.whole ~ '\\n<tool_call>\\n{"name": "' ~ function.name ~ '", "arguments": '
    ~ (function.arguments if function.arguments is string else function.arguments | tojson) ~ '}\\n</tool_call>' -%}
{%- endfor -%}
{%- endif -%}
{%- set said.whole = said.whole ~ '<|im_end|>\\n' -%}
{%- endfor -%}
{%- if said.whole | length > 2500 -%}
{%- set said.whole = '<|im_start|>' ~ last.role ~ '\\n' ~ said.text ~ '<|im_end|>\\n' -%}
{%- endif -%}
{{- said.whole ~ '<|im_start|>assistant\\n' -}}
"""
