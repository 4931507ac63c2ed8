"""Why a member may have no effect without a warning: nothing that the client waits for is lost."""

import re
from typing import Final

REASONS: Final[dict[str, str]] = {
    r"parameter:client_metadata": "It is for the logs of OpenAI's servers.",
    r"parameter:max_tool_calls": "It limits tools that a server runs: searches, if the model has any. "
    "All others are run by the client.",
    r"parameter:(prompt_cache_key|prompt_cache_retention|safety_identifier|user)": "It is sent where the upstream's "
    "`hints` list it, and changes no answer.",
    r"parameter:store": "Nothing is stored in any case.",
    r"parameter:(prompt_cache_options|reasoning|stream_options|text)": "Its members have rows of their own.",
    r"item:configuration_update\.(reasoning|text)": "Its members have rows of their own.",
    r".*text\.format\.strict": "The format is enforced in any case.",
    r"(item|part):.*\.mode": "It has only one value.",
    r"item:.*\.(id|status|phase)": "It is for clients and servers that store items; no model reads it.",
    r"item:.*_(call|output)\.(async|caller|execution)": "Who made a call that is over, and how.",
    r"item:reasoning(\.content|\.summary)?": "OpenAI's chat completions take no reasoning back.",
    r"item:shell_call\.environment.*": "Where a command ran that is over.",
    r"item:shell_call_output\.max_output_length": "The output is as long as it is.",
    r"item:image_generation_call\..*": "The picture itself is sent.",
    r"item:additional_tools\.role": "It has only one value.",
    r"item:agent_message\.(agent|recipient)": "It names the agent that reads the message.",
    r"part:output_text\.(annotations|logprobs)": "About an answer that is over.",
    r"include:message\.input_image\.image_url": "It is about the input, which an answer does not hold.",
}
"""By a pattern of names."""


def reason(name: str) -> str:
    """The reason for this member; empty if there is none."""
    return next((why for pattern, why in REASONS.items() if re.fullmatch(pattern, name)), "")
