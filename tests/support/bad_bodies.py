"""Bodies with one fault each: the code of the error, and the path by which it is named."""

from typing import Any


def image(url: Any, **more: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url, **more}]}]}


def tool(**fields: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "name": "f", **fields}]}


def request_body(**fields: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": "hi"}, fields]}


INVALID, TYPE, MISSING = "invalid_value", "invalid_type", "missing_required_parameter"
UNSUPPORTED, UNKNOWN = "unsupported_parameter", "unknown_parameter"
IMAGE_URL = "input[0].content[0].image_url"


BODIES: list[tuple[dict[str, Any], str, str]] = [
    ({"model": None}, MISSING, "model"),
    ({"model": ""}, MISSING, "model"),
    ({"model": 5}, TYPE, "model"),
    ({"model": "m" * 257}, INVALID, "model"),
    ({"include": ["x"] * 101}, INVALID, "include"),
    ({"input": None}, MISSING, "input"),
    ({"input": 5}, TYPE, "input"),
    ({"input": ["hi"]}, TYPE, "input[0]"),
    (request_body(role="robot", content="x"), INVALID, "input[1].role"),
    (request_body(content="x"), MISSING, "input[1].role"),
    (request_body(role="user"), MISSING, "input[1].content"),
    (request_body(role="user", content=[{"text": "x"}]), MISSING, "input[1].content[0].type"),
    (request_body(role="user", content=[{"type": "input_text"}]), MISSING, "input[1].content[0].text"),
    (request_body(type="function_call", name="f", arguments="{}"), MISSING, "input[1].call_id"),
    (request_body(type="function_call", call_id="c", name="f", arguments={}), TYPE, "input[1].arguments"),
    (request_body(type="function_call_output", call_id="c"), MISSING, "input[1].output"),
    (request_body(type="item_reference", id="msg_1"), UNSUPPORTED, "input[1]"),
    (request_body(type="configuration_update", reasoning={"effort": "ultra"}), INVALID, "input[1].reasoning.effort"),
    (image("ftp://example.com/x.png"), INVALID, IMAGE_URL),
    (image("file:///etc/passwd"), INVALID, IMAGE_URL),
    (image("http://user:word@example.com/x.png"), INVALID, IMAGE_URL),
    (image("http://127.0.0.1/x.png"), INVALID, IMAGE_URL),
    (image("http://169.254.169.254/latest/meta-data"), INVALID, IMAGE_URL),
    (image("http://localhost:8080/x.png"), INVALID, IMAGE_URL),
    (image("http://[::1]/x.png"), INVALID, IMAGE_URL),
    (image("data:image/png;base64,AAAA"), INVALID, IMAGE_URL),
    (image("data:image/png;base64,%%%"), INVALID, IMAGE_URL),
    (image("data:text/plain,Hi"), INVALID, IMAGE_URL),
    (image(7), TYPE, IMAGE_URL),
    ({"previous_response_id": "resp_1"}, UNSUPPORTED, "previous_response_id"),
    ({"conversation": {"id": "conv_1"}}, UNSUPPORTED, "conversation"),
    ({"prompt": {"id": "pmpt_1"}}, UNSUPPORTED, "prompt"),
    ({"background": True}, UNSUPPORTED, "background"),
    ({"stream": "yes"}, TYPE, "stream"),
    ({"stream": 1}, TYPE, "stream"),
    ({"temperature": "hot"}, TYPE, "temperature"),
    ({"temperature": 2.5}, INVALID, "temperature"),
    ({"temperature": True}, TYPE, "temperature"),
    ({"top_p": -0.1}, INVALID, "top_p"),
    ({"top_logprobs": 21}, INVALID, "top_logprobs"),
    ({"max_output_tokens": 0}, INVALID, "max_output_tokens"),
    ({"max_output_tokens": 1.5}, TYPE, "max_output_tokens"),
    ({"metadata": {str(number): "x" for number in range(17)}}, INVALID, "metadata"),
    ({"metadata": {"a": 1}}, TYPE, "metadata.a"),
    ({"tools": {}}, TYPE, "tools"),
    ({"tools": [{"name": "f"}]}, MISSING, "tools[0].type"),
    (tool(name=None), TYPE, "tools[0].name"),
    (tool(name="two words"), INVALID, "tools[0].name"),
    (tool(name="f" * 129), INVALID, "tools[0].name"),
    (tool(parameters=[]), TYPE, "tools[0].parameters"),
    (tool(strict="yes"), TYPE, "tools[0].strict"),
    ({**tool(), "tool_choice": "maybe"}, INVALID, "tool_choice"),
    ({**tool(), "tool_choice": {"type": "function"}}, MISSING, "tool_choice.name"),
    ({**tool(), "tool_choice": {"type": "function", "name": "g"}}, INVALID, "tool_choice"),
    ({"text": {"format": {"type": "yaml"}}}, INVALID, "text.format.type"),
    ({"text": {"format": {"type": "json_schema", "name": "a"}}}, MISSING, "text.format.schema"),
    ({"text": {"verbosity": "loud"}}, INVALID, "text.verbosity"),
    ({"reasoning": {"effort": "heroic"}}, INVALID, "reasoning.effort"),
    ({"truncation": "middle"}, INVALID, "truncation"),
    ({"api_base": "http://evil"}, UNKNOWN, "api_base"),
    ({"litellm_metadata": None}, UNKNOWN, "litellm_metadata"),
    ({"aws_region_name": "x"}, UNKNOWN, "aws_region_name"),
]
