"""Cohere: what litellm leaves out of requests to version 2 of its chat API.

It drops `tool_choice` without an error. How its streams are read is in `upstreams/litellm_cohere.py`.
"""

from typing import Final

from .provider import AskFacts, Json, Litellm, Provider, Translation


def address(base_url: str) -> str:
    """The address of the chat below this base URL. litellm wants the whole of it."""
    if base_url.endswith("/chat"):
        return base_url
    return f"{base_url}/chat" if base_url.endswith("/v2") else f"{base_url}/v2/chat"


def prepare(settings: Json, facts: AskFacts) -> Json:  # noqa: ARG001 — the signature of every provider
    """Settings and messages of a request in the form that Cohere takes.

    It does not accept `strict` in tools, accepts earlier reasoning only as `tool_plan` next to calls, and can be forced
    to call a tool, but not a certain one of several: then only that one is offered.
    """
    settings = settings | {"messages": [_message(message) for message in settings["messages"]]}
    choice = settings.pop("tool_choice", None)
    if "tools" not in settings:
        return settings
    tools = settings["tools"]
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name")
        tools = [tool for tool in tools if tool.get("function", {}).get("name") == name] or tools
        choice = "required"
    settings["tools"] = [_tool(tool) for tool in tools]
    if choice in ("required", "none"):
        settings["extra_body"] = {"tool_choice": choice.upper()}
    return settings


def _message(message: Json) -> Json:
    sent = {key: value for key, value in message.items() if key != "reasoning_content"}
    if message.get("tool_calls") and message.get("reasoning_content"):
        sent["tool_plan"] = message["reasoning_content"]
    return sent


def _tool(tool: Json) -> Json:
    function = {key: value for key, value in tool.get("function", {}).items() if key != "strict"}
    return tool | {"function": function}


PROVIDERS: Final = (
    Provider(
        name="cohere",
        aliases=("cohere_chat",),
        key_variable="COHERE_API_KEY",
        litellm=Litellm(address=address),
        translation=Translation(drops_strict=True, prepare=prepare),
    ),
)
