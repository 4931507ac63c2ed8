"""`via = "chat"` with a provider: its address, its key and what is different there are known. litellm stays away."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli import commands
from app.settings import Settings, load
from app.settings.mistakes import ConfigMistakesError
from tests.support.providers import changed
from tests.support.running import ROOT
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import ChatUpstream

GROQ = '[upstreams.it]\nvia = "chat"\nprovider = "groq"\n'
ANY_MODEL = '[models."*"]\nupstream = "it"\n'
KEY = "gsk-of-the-environment"


def settings(folder: Path, upstream: str, **environment: str) -> Settings:
    """What this file and this environment come to."""
    (folder / "config.toml").write_text(upstream + ANY_MODEL)
    return load({}, environment, folder)


def mistakes(folder: Path, upstream: str, **environment: str) -> str:
    """What is wrong with them."""
    with pytest.raises(ConfigMistakesError) as caught:
        settings(folder, upstream, **environment)
    return "\n".join(str(mistake) for mistake in caught.value.mistakes)


@contextmanager
def served(folder: Path, *script: Any, provider: str, **environment: str) -> Iterator[tuple[str, ChatUpstream]]:
    """The server's address, with a server of ours in the place of this provider's."""
    with ChatUpstream([*script]) as server, changed(provider, base_url=server.url):
        server.may_violate = True  # what a provider wants otherwise is wanted otherwise here
        result = settings(folder, GROQ.replace("groq", provider), **environment)
        with serving(result) as url:
            yield url, server


def test_the_key_of_its_variable_goes_to_its_own_address(tmp_path: Path) -> None:
    known = settings(tmp_path, GROQ, GROQ_API_KEY=KEY)
    upstream = known.upstreams["it"]
    assert upstream.base_url == "https://api.groq.com/openai/v1"
    assert upstream.api_key is not None
    assert upstream.api_key.reveal() == KEY
    origins = {name.removeprefix("upstreams.it."): origin for name, origin in known.origins.items()}
    assert origins["api_key"] == "env:GROQ_API_KEY"
    assert origins["base_url"] == origins["reasoning_field"] == 'provider = "groq"'


def test_an_alias_means_the_same(tmp_path: Path) -> None:
    both = [
        settings(tmp_path, GROQ.replace("groq", name), TOGETHER_API_KEY=KEY).upstreams["it"]
        for name in ("together", "together_ai")
    ]
    assert both[0].model_copy(update={"provider": "together_ai"}) == both[1]


@pytest.mark.parametrize(
    ("content", "key"),
    [('base_url = "https://elsewhere.test/v1"', None), ('auth = "passthrough"', None), ('api_key = "k"', "k")],
)
def test_the_key_of_the_environment_goes_nowhere_else(content: str, key: str | None, tmp_path: Path) -> None:
    upstream = settings(tmp_path, f"{GROQ}{content}\n", GROQ_API_KEY=KEY).upstreams["it"]
    assert (upstream.api_key and upstream.api_key.reveal()) == key


def test_a_server_without_keys_needs_no_variable(tmp_path: Path) -> None:
    upstream = settings(tmp_path, GROQ.replace("groq", "ollama"), OLLAMA_API_KEY=KEY).upstreams["it"]
    assert (upstream.base_url, upstream.api_key) == ("http://127.0.0.1:11434/v1", None)


def test_check_shows_what_is_known_of_it_and_does_not_load_litellm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise AssertionError

    monkeypatch.setattr(commands, "_providers_of_litellm", refuse)
    (tmp_path / "config.toml").write_text(GROQ + ANY_MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    assert commands.run(["check"]) == 0
    shown = capsys.readouterr().out
    assert 'base_url = "https://api.groq.com/openai/v1" # provider = "groq"' in shown
    assert re.search(r'^api_key = "\*\*\*" +# set, from env:GROQ_API_KEY$', shown, re.MULTILINE)
    assert KEY not in shown


@pytest.mark.parametrize(
    ("upstream", "environment", "mistake"),
    [
        (GROQ, {}, "upstreams.it.api_key: the environment variable GROQ_API_KEY is not set"),
        (GROQ, {"GROQ_API_KEY": ""}, "upstreams.it.api_key: the environment variable GROQ_API_KEY is empty"),
        (
            GROQ.replace("groq", "grok"),
            {},
            "upstreams.it: grok is not known to speak chat completions (did you mean groq?): leave provider out",
        ),
        (GROQ.replace("groq", "llama_cpp"), {}, 'upstreams.it: via = "chat" needs a base_url'),
        (GROQ.replace('"groq"', "1"), {}, "upstreams.it.provider: must be a text in quotes"),
    ],
)
def test_what_is_missing_is_a_mistake(upstream: str, environment: dict[str, str], mistake: str, tmp_path: Path) -> None:
    assert mistake in mistakes(tmp_path, upstream, **environment)


def test_a_turn_is_answered_as_the_provider_is_known(tmp_path: Path) -> None:
    form = {"type": "json_schema", "name": "a", "schema": {"type": "object"}}
    with served(tmp_path, says("{}"), stops("stop"), provider="groq", GROQ_API_KEY=KEY) as (url, server):
        body = {"model": "m", "input": "Hi", "text": {"format": form}}
        answer = httpx.post(f"{url}/v1/responses", json=body, timeout=20)
    assert answer.json()["output"][0]["content"][0]["text"] == "{}"
    assert "does not enforce it" in answer.headers["x-am-warnings"]
    assert server.asks[0].headers["authorization"] == f"Bearer {KEY}"
    assert "response_format" not in server.asks[0].body


def test_a_picture_for_models_that_read_text_only_is_refused_by_its_path(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    with served(tmp_path, provider="deepseek", DEEPSEEK_API_KEY=KEY) as (url, server):
        body = {"model": "m", "input": [{"role": "user", "content": [picture]}]}
        answer = httpx.post(f"{url}/v1/responses", json=body, timeout=20)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input[0].content[0]")
    assert server.asks == []


def test_ids_of_calls_are_as_the_provider_takes_them(tmp_path: Path) -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": "call_of_another_provider", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_of_another_provider", "output": "1"},
    ]
    with served(tmp_path, says("Hi"), stops("stop"), provider="mistral", MISTRAL_API_KEY=KEY) as (url, server):
        httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items}, timeout=20)
    ids = [message["tool_call_id"] for message in server.asks[0].body["messages"] if message["role"] == "tool"]
    assert [bool(re.fullmatch("[a-zA-Z0-9]{9}", each)) for each in ids] == [True]
    assert "stream_options" not in server.asks[0].body


def test_litellm_is_not_loaded_for_it(tmp_path: Path) -> None:
    """Neither at start nor for a turn."""
    script = f"""
import json, sys
from dataclasses import replace
from pathlib import Path
import httpx
from app.providers import lookup
from app.settings import load
from tests.wire.servers import ChatUpstream
from tests.wire.script import says, stops
from tests.support.serving import serving

with ChatUpstream([says("Hi"), stops("stop")]) as server:
    lookup.BY_NAME["groq"] = replace(lookup.provider_of("groq"), base_url=server.url)
    settings = load({{}}, {{"GROQ_API_KEY": "{KEY}"}}, Path({str(tmp_path)!r}))
    with serving(settings) as url:
        answer = httpx.post(f"{{url}}/v1/responses", json={{"model": "m", "input": "Hi"}}, timeout=20)
        models = httpx.get(f"{{url}}/v1/models", timeout=20)
print(json.dumps([answer.json()["status"], models.status_code, "litellm" in sys.modules]))
"""
    (tmp_path / "config.toml").write_text(GROQ + ANY_MODEL)
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(ended.stdout or "0") == ["completed", 200, False], ended.stderr
