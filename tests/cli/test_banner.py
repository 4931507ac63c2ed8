"""What the server says of itself once it answers."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.cli.banner import address, banner
from app.settings import Key, Model, Server, Settings, Upstream
from app.version import VERSION
from tests.support.running import running
from tests.support.surveyed_server import SurveyedServer, chats, listing
from tests.wire.script import counts, says, stops

DEMO = f"""\
AM Proxy {VERSION} is ready: http://127.0.0.1:8080/v1
  models  demo (scripted, without network; --upstream URL serves real ones)
  keys    none needed: only this machine can reach it
  config  no file: defaults, environment and flags
  look    http://127.0.0.1:8080/ shows answers event by event

Try it with curl:
  curl http://127.0.0.1:8080/v1/responses \\
    -H "Content-Type: application/json" \\
    -d '{{"model": "demo", "input": "Hello!"}}'

or with an OpenAI SDK:
  from openai import OpenAI
  client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
  print(client.responses.create(model="demo", input="Hello!").output_text)
"""


def test_without_configuration_it_shows_the_demo_and_how_to_try_it() -> None:
    assert banner(Settings(), 8080) == DEMO


def test_a_terminal_gets_its_first_line_in_colour_and_the_rest_plain() -> None:
    first, _, rest = banner(Settings(), 8080, colour=True).partition("\n")
    assert first == f"\x1b[1;32m{DEMO.partition(chr(10))[0]}\x1b[0m"
    assert rest == DEMO.partition("\n")[2]


def test_with_keys_the_examples_send_one_and_the_keys_go_by_name() -> None:
    keys = tuple(Key(f"key{number}", bytes([number])) for number in range(9))
    printed = banner(Settings(keys=keys, file="proxy.toml"), 1)
    assert "  keys    needed: key0, key1, key2, key3, key4, key5, key6, key7 and others\n" in printed
    assert "  config  proxy.toml\n" in printed
    assert '/responses \\\n    -H "Authorization: Bearer $AM_KEY" \\\n    -H "Content-Type' in printed
    assert 'api_key="YOUR_KEY"' in printed


UPSTREAMS = {"x": Upstream(base_url="http://x.test/v1"), "y": Upstream(provider="deepseek")}


@pytest.mark.parametrize(
    ("models", "printed", "example"),
    [
        ({"*": "x"}, "any name, sent to http://x.test/v1", "YOUR-MODEL"),
        ({"*": "y"}, "any name, sent to deepseek", "YOUR-MODEL"),
        ({"*": "x", "b": "y", "a": "y"}, "b, a; any other name, sent to http://x.test/v1", "b"),
        ({f"m{number}": "x" for number in range(10)}, "m0, m1, m2, m3, m4, m5, m6, m7 and 2 more", "m0"),
        ({"demo": "x"}, "demo", "demo"),
    ],
)
def test_the_models_are_named_and_the_first_is_the_example(models: dict[str, str], printed: str, example: str) -> None:
    entries = {name: Model(upstream=upstream) for name, upstream in models.items()}
    text = banner(Settings(upstreams=UPSTREAMS, models=entries), 1)
    assert text.splitlines()[1] == f"  models  {printed}"
    assert f'"model": "{example}"' in text


@pytest.mark.parametrize(
    ("configured", "listed", "printed", "example"),
    [
        ("*", ["tiny", "qwen3:8b"], "tiny, qwen3:8b; any other name, sent to http://x.test/v1", "tiny"),
        ("*", ["it's; ls", "\x1b[2J", "a" * 101, "", "-x", "org/ok"],
         "org/ok; any other name, sent to http://x.test/v1", "org/ok"),
        ("*", ["`id`"], "any name, sent to http://x.test/v1", "YOUR-MODEL"),
        ("mine", [], "mine", "mine"),
    ],
)  # fmt: skip
def test_models_that_the_upstream_lists_are_examples_if_they_can_be_pasted(
    configured: str, listed: list[str], printed: str, example: str
) -> None:
    settings = Settings(upstreams=UPSTREAMS, models={configured: Model(upstream="x")})
    text = banner(settings, 1, listed)
    assert text.splitlines()[1] == f"  models  {printed}"
    assert f'"model": "{example}"' in text
    assert f'model="{example}"' in text


@pytest.mark.needs("curl")
@pytest.mark.parametrize("configuration", ["--upstream", "file", "no list", "down"])
def test_the_curl_command_of_the_banner_works_when_pasted(tmp_path: Path, configuration: str) -> None:
    pages = chats() if configuration == "no list" else chats(models=listing("qwen3-coder:30b", "gemma3:4b"))
    with SurveyedServer(pages, [says("Hello."), stops(), counts(1, 1)]) as upstream:
        address = "http://127.0.0.1:1/v1" if configuration == "down" else f"{upstream.root}/v1"
        if configuration == "file":
            tables = f'[upstreams.it]\nvia = "chat"\nbase_url = "{address}"\n[models."*"]\nupstream = "it"\n'
            (tmp_path / "config.toml").write_text(tables)
        flags = [] if configuration == "file" else ["--upstream", address]
        with running(*flags, folder=tmp_path) as server:
            [command] = re.findall(r"^  (curl .*?)\n\n", server.banner, re.MULTILINE | re.DOTALL)
            asked = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)  # noqa: S607 — the reader's shell
            assert server.stop() == 0
    if configuration == "down":
        assert json.loads(asked.stdout)["error"]["code"] == "upstream_error"
    else:
        assert json.loads(asked.stdout)["status"] == "completed"
        model = "YOUR-MODEL" if configuration == "no list" else "qwen3-coder:30b"
        assert [ask.body["model"] for ask in upstream.asks if ask.path == upstream.chat_path and ask.raw][-1] == model


def test_a_server_without_keys_is_announced_in_capitals() -> None:
    settings = Settings(server=Server(host="0.0.0.0", insecure_no_auth=True))  # noqa: S104 — nothing listens
    assert "  keys    NONE NEEDED: everyone who can reach this address can use it (--insecure-no-auth)\n" in banner(
        settings, 1
    )


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/v1"),
        ("localhost", "http://localhost:80/v1"),
        ("0.0.0.0", "http://127.0.0.1:80/v1"),  # noqa: S104 — nothing listens
        ("::", "http://[::1]:80/v1"),
        ("[::1]", "http://[::1]:80/v1"),
    ],
)
def test_the_url_is_one_that_a_client_here_can_use(host: str, url: str) -> None:
    assert address(host, 80) == url


def test_json_logs_get_one_line_of_json() -> None:
    printed = banner(Settings(server=Server(log_format="json")), 8080)
    assert json.loads(printed) == {
        "event": "ready",
        "url": "http://127.0.0.1:8080/v1",
        "version": VERSION,
        "models": ["demo"],
        "keys": 0,
        "config": None,
    }


def test_on_a_terminal_its_facts_are_wrapped_at_words() -> None:
    models = {name: Model(upstream="x") for name in ("a-model-of-thirty-two-characters", "another-such-model:30b", "*")}
    text = banner(Settings(upstreams=UPSTREAMS, models=models), 1, columns=80)
    assert text.splitlines()[1:4] == [
        "  models  a-model-of-thirty-two-characters, another-such-model:30b; any other",
        "          name, sent to http://x.test/v1",
        "  keys    none needed: only this machine can reach it",
    ]
