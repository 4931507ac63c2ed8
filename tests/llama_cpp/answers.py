"""What the tiny model says, and to which words. The last message decides."""

import json
from typing import Any, Final

SIZE: Final = 4096
"""Tokens of the context of one conversation. Every character of a prompt is a token."""


def call(name: str, **arguments: Any) -> str:
    """As models of Qwen call a tool."""
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


GREETING: Final = "Hello! 👋🏽 你好, wörld — naïve café ✨."
THOUGHT: Final = "The user wants a number. Six times seven is forty-two."
TOLD: Final = "The tool has answered: that is all I wanted to know."

FORCED: Final = "weather in Paris"
"""What is begun where a call is required, and the model wants to say something else."""
ANSWERS: Final = {
    "<tool_response>": TOLD,
    "say hello": GREETING,
    "think about it": f"<think>{THOUGHT}</think>The answer is 42.",
    FORCED: call("get_weather", city="Paris"),
    "weather in two cities": call("get_weather", city="Rome") + "\n" + call("get_weather", city='the "old" Ōsaka'),
    "never stop": " All work and no play makes a model say this sentence again.",
    "": "I am a tiny model, and I know only a few answers.",
}
"""The first words that the last message holds decide."""
ENDLESS: Final = {"never stop"}
"""What is said again and again."""

TEMPLATE: Final = """\
{%- if tools %}<|im_start|>system
# Tools: call one as <tool_call>{"name": …, "arguments": …}</tool_call>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ 'user' if message.role == 'tool' else message.role }}
{% if message.role == 'tool' %}<tool_response>{{ message.content }}</tool_response>
{%- else %}
{%- if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}
{%- endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% set last = '<tool_response>' if messages[-1].role == 'tool' else messages[-1].content or '' %}
{%- if false %}"""
TEMPLATE_OF_ANSWERS: Final = "".join(
    f"{{%- elif {json.dumps(words)} in last %}}<|{number}|>" for number, words in enumerate(ANSWERS)
)
"""A prompt ends with the token from which the model goes on with its answer."""
CHAT_TEMPLATE: Final = f"{TEMPLATE}{TEMPLATE_OF_ANSWERS}{{%- endif %}}{{%- endif %}}"
