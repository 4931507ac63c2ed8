"""Addresses of upstreams that are not quite right: each is a mistake at its own place, with the one that is meant."""

import string
from pathlib import Path

import pytest

from app.settings import ConfigMistakesError, load
from app.settings.base_urls import base_of, complete_url
from tests.support.running import run

WRONG = "must be an address that starts with http:// or https://"


def mistakes(folder: Path, url: str, more: str = 'via = "chat"') -> list[str]:
    """What is wrong with this address in a file, without its place."""
    (folder / "config.toml").write_text(f'[upstreams.it]\n{more}\nbase_url = "{url}"\n[models."*"]\nupstream = "it"\n')
    try:
        load({}, {}, folder)
    except ConfigMistakesError as error:
        lines = [str(mistake) for mistake in error.mistakes]
        assert all(line.startswith("config.toml: upstreams.it.base_url: ") for line in lines)
        return [line.removeprefix("config.toml: upstreams.it.base_url: ") for line in lines]
    return []


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("localhost:11434", "http://localhost:11434/v1"),
        ("localhost", "http://localhost/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("192.168.1.5/v1", "http://192.168.1.5/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("ollama:11434", "http://ollama:11434/v1"),
        ("box.local/v1", "http://box.local/v1"),
        ("http//localhost:11434/v1", "http://localhost:11434/v1"),
        ("http:/localhost:11434/v1", "http://localhost:11434/v1"),
        ("http:localhost:11434/v1", "http://localhost:11434/v1"),
        ("htp://localhost:11434", "http://localhost:11434/v1"),
        ("htttp://ollama", "http://ollama/v1"),
        ("https//api.example.com/v1", "https://api.example.com/v1"),
        ("https;//api.example.com/v1", "https://api.example.com/v1"),
        ("api.example.com", "https://api.example.com/v1"),
        ("api.example.com:8443/v1", "http://api.example.com:8443/v1"),
        ("api.groq.com", "https://api.groq.com/openai/v1"),
        ("api.openai.com/v1/responses", "https://api.openai.com/v1"),
        ("localhost:8000/v1/chat/completions", "http://localhost:8000/v1"),
        ("ollama", "http://127.0.0.1:11434/v1"),
        ("OpenRouter", "https://openrouter.ai/api/v1"),
    ],
)
def test_an_address_without_its_scheme(given: str, meant: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, given) == [f"{WRONG} (did you mean {meant}?)"]
    assert mistakes(tmp_path, meant) == []


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            " ",
            "nowhere",
            "ftp://x/v1",
            "ws://x",
            "http://",
            "http:///v1",
            "http://x:0",
            "http://x:port",
            "https://",
        ),
        *(
            "http//me:pw@x/v1",
            "x.example?key=secret",
            "a b.example",
            "sk-1234567890",
            "http://x:99999",
            "x.example:99999",
            "x" * 300 + ".com",
        ),
    ],
)
def test_what_nothing_can_be_made_of_gets_no_suggestion(given: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, given) == [WRONG]


@pytest.mark.parametrize(
    ("given", "path", "meant"),
    [
        ("http://x:1/v1/chat/completions", "/chat/completions", "http://x:1/v1"),
        ("http://x:1/v1/chat/completions/", "/chat/completions", "http://x:1/v1"),
        ("http://x:1/chat/completions", "/chat/completions", "http://x:1"),
        ("https://api.openai.com/v1/responses", "/responses", "https://api.openai.com/v1"),
        ("https://api.anthropic.com/v1/messages", "/messages", "https://api.anthropic.com/v1"),
        ("http://x:1/v1/models", "/models", "http://x:1/v1"),
        ("http://x:1/v1beta/models", "/models", "http://x:1/v1beta"),
        ("http://x:1/v1/completions", "/completions", "http://x:1/v1"),
        ("http://x:11434/api/chat", "/api/chat", "http://x:11434/v1"),
        ("http://x:11434/api/generate", "/api/generate", "http://x:11434/v1"),
    ],
)
@pytest.mark.parametrize("more", ['via = "chat"', 'via = "responses"', ""])
def test_the_address_of_one_request(given: str, path: str, meant: str, more: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, given, more) == [f"must not end with {path} (did you mean {meant}?)"]
    assert mistakes(tmp_path, meant) == []


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ("https://it.services.ai.azure.com/models", 'via = "chat"'),
        ("https://x.example/v1/messages", 'provider = "anthropic"'),
        ("https://it.services.ai.azure.com/models/chat/completions", 'provider = "azure_ai"'),
        ("https://x.example/my-responses", 'via = "chat"'),
        ("https://x.example/responses/v1", 'via = "chat"'),
    ],
)
def test_an_address_that_only_looks_like_one_of_a_request(given: str, more: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, given, more) == []


@pytest.mark.parametrize("command", ["serve", "check", "doctor"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("localhost:11434", f"{WRONG} (did you mean http://localhost:11434/v1?)"),
        (
            "http://localhost:11434/v1/chat/completions",
            "must not end with /chat/completions (did you mean http://localhost:11434/v1?)",
        ),
    ],
)
def test_every_command_says_so_of_the_flag(command: str, given: str, said: str, tmp_path: Path) -> None:
    ended = run(command, "--upstream", given, folder=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.startswith("--upstream: ")


@pytest.mark.parametrize(
    ("given", "more", "meant"),
    [
        ("http://127.0.0.1:11434", 'via = "chat"', "http://127.0.0.1:11434/v1"),
        ("http://localhost:8000/", 'via = "responses"', "http://localhost:8000/v1"),
        ("http://ollama:11434", 'via = "chat"', "http://ollama:11434/v1"),
        ("http://[::1]:8000", 'via = "chat"', "http://[::1]:8000/v1"),
        ("http://192.168.1.5:1234", 'via = "chat"\nprovider = "ollama"', "http://192.168.1.5:1234/v1"),
        ("http://127.0.0.1:11434/v1", 'via = "chat"', ""),
        ("http://127.0.0.1:11434/x", 'via = "chat"', ""),
        ("https://api.deepseek.com", 'via = "chat"', ""),  # right without /v1
        ("http://127.0.0.1:11434", 'via = "messages"', ""),
        ("http://127.0.0.1:11434", 'provider = "ollama"', ""),
    ],
)
def test_an_address_without_a_path_gets_a_note(given: str, more: str, meant: str, tmp_path: Path) -> None:
    """It may be right: llama.cpp answers there too."""
    lines = more.split("\n")
    table = "\n".join(['[upstreams."a.b"]', *lines, f'base_url = "{given}"', '[models."*"]', 'upstream = "a.b"'])
    (tmp_path / "am-proxy.toml").write_text(table)
    place = 'am-proxy.toml: upstreams."a.b".base_url'
    note = f"{place} has no path (did you mean {meant}?); am-proxy doctor tests it"
    assert load({}, {}, tmp_path).notes == ((note,) if meant else ())


def test_check_names_the_address_that_serve_would_try(tmp_path: Path) -> None:
    """`serve` asks the server, `check` asks nobody."""
    said = "# --upstream: no key is given\n# --upstream has no path: serve also tries http://127.0.0.1:9/v1\n"
    printed = run("check", "--upstream", "http://127.0.0.1:9", folder=tmp_path).stdout
    assert said in printed
    assert 'via = "chat"                                # default; serve asks the server\n' in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "has no path" not in run("check", "--upstream", "http://127.0.0.1:9/v1", folder=tmp_path).stdout


def test_a_collector_may_have_any_path(tmp_path: Path) -> None:
    assert load({}, {"AM_TRACES": "http://x:4318/v1/chat/completions"}, tmp_path).server.traces.endswith("/completions")


@pytest.mark.parametrize("letters", [string.printable, "http:/.", "[]:/v1", "@?#%é\ud800\x00"])
def test_no_text_breaks_the_search_for_what_is_meant(letters: str) -> None:
    for first in letters:
        for second in letters:
            for text in (first + second, f"http{first}{second}x/v1", f"x.com{first}{second}"):
                complete_url(text)
                base_of(text)
