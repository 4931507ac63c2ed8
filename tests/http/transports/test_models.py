"""GET /v1/models: OpenAI's list, and the catalogue Codex reads."""

from typing import Any

import httpx

from tests.wire.configuration import Can, Model, Settings, Upstream
from tests.wire.program import serving

BASE: dict[str, Any] = {
    "description": None,
    "apply_patch_tool_type": "freeform",
    "shell_type": "unified_exec",
    "visibility": "list",
    "supported_in_api": True,
    "availability_nux": None,
    "upgrade": None,
    "support_verbosity": False,
    "default_verbosity": None,
    "truncation_policy": {"mode": "bytes", "limit": 10_000},
    "supports_parallel_tool_calls": True,
    "experimental_supported_tools": [],
}


def catalogue(url: str) -> dict[str, Any]:
    """As Codex asks for it."""
    body: dict[str, Any] = httpx.get(f"{url}/v1/models", params={"client_version": "0.169.0"}, timeout=30).json()
    return body


def test_codex_is_told_which_models_see_and_which_heed_verbosity() -> None:
    settings = Settings(
        upstreams={
            "demo": Upstream(via="demo"),
            "deep": Upstream(via="litellm", provider="deepseek"),
            "chat": Upstream(via="chat", base_url="http://127.0.0.1:1"),
        },
        models={
            "any": Model(upstream="chat"),
            "blind": Model(upstream="chat", can=Can(vision=False, verbosity=True)),
            "behind litellm": Model(upstream="deep", name="deepseek-chat"),
            "better known": Model(upstream="deep", name="deepseek-vision", can=Can(vision=True)),
        },
    )
    with serving(settings) as url:
        entries = catalogue(url)["models"]
    assert [(entry["slug"], entry.get("input_modalities"), entry["support_verbosity"]) for entry in entries] == [
        ("any", None, False),
        ("blind", ["text"], True),
        ("behind litellm", ["text"], False),
        ("better known", None, False),
    ]


def test_codex_is_offered_the_efforts_that_a_known_claude_supports() -> None:
    """Without any, Codex would never ask it to think. Older versions of Codex refuse a catalogue with `max`."""
    older = ["none", "minimal", "low", "medium", "high", "xhigh"]
    settings = Settings(
        upstreams={
            "messages": Upstream(via="messages", base_url="http://127.0.0.1:1"),
            "chat": Upstream(via="chat", base_url="http://127.0.0.1:1"),
            "maker": Upstream(via="litellm", provider="anthropic"),
            "other": Upstream(via="litellm", provider="deepseek"),
        },
        models={
            "claude-haiku-4-5": Model(upstream="messages"),
            "always thinks": Model(upstream="messages", name="claude-opus-5-5"),
            "behind litellm": Model(upstream="maker", name="claude-sonnet-4-6"),
            "configured": Model(upstream="messages", name="claude-opus-5-5", reasoning_efforts=["low", "max"]),
            "never thinks": Model(upstream="messages", name="claude-opus-5-5", can=Can(reasoning=False)),
            "too old": Model(upstream="messages", name="claude-3-5-haiku-latest"),
            "glm-5": Model(upstream="messages"),
            "by chat": Model(upstream="chat", name="claude-opus-5-5"),
            "of another": Model(upstream="other", name="claude-opus-5-5"),
        },
    )
    with serving(settings) as url:
        entries = catalogue(url)["models"]
    told = {entry["slug"]: [level["effort"] for level in entry["supported_reasoning_levels"]] for entry in entries}
    assert told == {
        "claude-haiku-4-5": older,
        "always thinks": older[1:],
        "behind litellm": older[:5],
        "configured": ["low", "max"],
        "never thinks": [],
        "too old": [],
        "glm-5": [],
        "by chat": [],
        "of another": [],
    }
    assert {entry.get("default_reasoning_level") for entry in entries[:3]} == {"medium"}
    assert [entry["supports_reasoning_summaries"] for entry in entries] == [True] * 4 + [False] * 5


def test_the_list_names_every_configured_model_and_no_wildcard() -> None:
    settings = Settings(
        upstreams={"demo": Upstream(via="demo")},
        models={
            "thinker": Model(upstream="demo", context_window=32_000, reasoning_efforts=["low", "medium"]),
            "plain": Model(upstream="demo"),
            "*": Model(upstream="demo"),
        },
    )
    with serving(settings) as url:
        body = catalogue(url)
    assert body["object"] == "list"
    assert [set(entry) for entry in body["data"]] == [{"id", "object", "created", "owned_by"}] * 2
    assert [entry["id"] for entry in body["data"]] == ["thinker", "plain"]
    assert all(len(entry.pop("base_instructions")) > 1000 for entry in body["models"])
    assert body["models"] == [
        {
            **BASE,
            "slug": "thinker",
            "display_name": "thinker",
            "supported_reasoning_levels": [
                {"effort": "low", "description": "low"},
                {"effort": "medium", "description": "medium"},
            ],
            "default_reasoning_level": "medium",
            "supports_reasoning_summaries": True,
            "context_window": 32_000,
            "priority": 0,
        },
        {
            **BASE,
            "slug": "plain",
            "display_name": "plain",
            "supported_reasoning_levels": [],
            "supports_reasoning_summaries": False,
            "priority": 1,
        },
    ]
