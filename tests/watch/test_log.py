"""The log: a line for each turn, for people on a terminal and for programs elsewhere."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.types.redact import without_keys
from tests.deploy.program import soon, started
from tests.support.terminal import terminal
from tests.wire.program import COMMAND

MODELS = """
[upstreams.there]
via = "demo"
[upstreams.dead]
base_url = "http://127.0.0.1:9/v1"
[models.small]
upstream = "there"
input_price = 1000.0
output_price = 1000.0
[models.a-model-whose-name-is-rather-long]
upstream = "there"
[models.dead]
upstream = "dead"
[models.both]
upstreams = ["dead", "there"]
"""
SEARCH = {"type": "file_search", "vector_store_ids": ["v"]}
CAUSE = "The upstream at http://127.0.0.1:9/v1 refused the connection. Is it running?"
TOKENS = r"\d+ → \d+ {3,}\d\.\d\d s"
FIRST = r"( +first \d\.\d\d s)?"
OK = {"finish": "completed", "status": 200, "upstream": "there"}
TURNS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    (
        {"model": "small", "tools": [SEARCH]},
        rf"200   small → there         {TOKENS} +warned: file_search{FIRST}",
        OK,
    ),
    (
        {"model": "a-model-whose-name-is-rather-long"},
        rf"200   a-model-whose-name-is-rather-long → there  {TOKENS}{FIRST}",
        {**OK, "stream": False},
    ),
    (
        {"model": "both"},
        rf"200   both → there          {TOKENS} +after dead failed{FIRST}",
        {**OK, "retries": {"dead": 2}, "cause": CAUSE},
    ),
    (
        {"model": "dead", "stream": True},
        r"502   dead → dead           The upstream at \S+ refused the connection.* \(tried 2 times\)  req_\S+",
        {"finish": "refused", "status": 502, "error": "upstream_error", "cause": CAUSE, "stream": True},
    ),
    (
        {"model": "small", "input": "cut", "stream": True},
        r"fail  small → there         The model's server ended its answer without saying why.*  req_\S+",
        {"finish": "failed", "status": 200, "error": "server_error"},
    ),
    (
        {"model": "small", "input": "cut"},
        r"502   small → there         The model's server ended its answer without saying why.*  req_\S+",
        {"finish": "failed", "status": 502, "error": "upstream_error"},
    ),
    (
        {"model": "small", "input": "incomplete"},
        f"cut   small → there         {TOKENS}{FIRST}",
        {"finish": "incomplete"},
    ),
    (
        {"model": "no\x1b[31m\nmodel"},
        r"404   no\?\[31m model         The model `no\?\[31m model` does not exist .*  req_\S+",
        {"finish": "refused", "status": 404, "error": "model_not_found"},
    ),
]
FIELDS = """
time level message request_id key model stream upstream finish status error cause input_tokens cached_tokens
output_tokens reasoning_tokens first_token_ms duration_ms warnings retries cost_estimate
"""
SERVE = [*COMMAND, "serve", "--config"]


def post(url: str, body: dict[str, Any]) -> str:
    """The id of this request."""
    return httpx.post(f"{url}/responses", json={"input": "Hi", **body}, timeout=30).headers["x-request-id"]


def test_a_turn_is_one_aligned_line(tmp_path: Path) -> None:
    file = tmp_path / "am-proxy.toml"
    file.write_text(MODELS)
    with terminal([*SERVE, str(file), "--port", "0"], folder=tmp_path, columns=200) as screen:
        screen.wait_for("Try it:")
        url = re.findall(r"ready: (\S+)", screen.text)[0]
        for body, _, _ in TURNS:
            post(url, body)
        screen.wait_for("  404  ")
        shown = [line[10:] for line in screen.lines if re.match(r"\d\d:\d\d:\d\d  ", line)]
        assert screen.colours("fail  small") >= {"brown"}, "pyte's name for yellow"
    warnings = [line for line in shown if "WARNING" in line]
    assert warnings == [f"WARNING  upstream fails: dead: {CAUSE}"], "one a minute"
    lines = [line for line in shown if line not in warnings]
    assert [line for line, (_, told, _) in zip(lines, TURNS, strict=True) if not re.fullmatch(told, line)] == []


def test_elsewhere_it_is_json_and_says_why_each_turn_failed(tmp_path: Path) -> None:
    with started(tmp_path, MODELS) as server:
        ids = [post(server.url, body) for body, _, _ in TURNS]
        assert soon(lambda: len(server.lines("turn")) == len(ids))
        lines = {line["request_id"]: line for line in server.lines("turn")}
        [warning] = server.lines("upstream fails")
    assert {**warning, "level": "warning", "upstream": "dead", "cause": CAUSE} == warning
    for request_id, (body, _, expected) in zip(ids, TURNS, strict=True):
        line = lines[request_id]
        assert {**line, "level": "info", "key": "anyone", **expected} == line
        assert [name for name in FIELDS.split() if name in line] == list(line), (
            "these fields, in this order, and no others"
        )
        assert not [name for name, value in line.items() if value in ("", [], {}) or value is None]
        assert "cause" in line or line["finish"] in ("completed", "incomplete")
        assert line.get("cost_estimate") == (
            line["input_tokens"] / 1000 + line["output_tokens"] / 1000 if expected.get("upstream") != "dead"
            and body["model"] == "small" else None
        )  # fmt: skip
    assert "tools[0] was left out: its type 'file_search'" in lines[ids[0]]["warnings"][0]


@pytest.mark.parametrize(
    ("level", "messages"), [("warning", {"upstream fails"}), ("debug", {"upstream fails", "turn"})]
)
def test_its_level_and_its_form_are_settings(tmp_path: Path, level: str, messages: set[str]) -> None:
    server = f'[server]\nlog_level = "{level}"\nlog_format = "json"\n'
    (tmp_path / "am-proxy.toml").write_text(server + MODELS)
    command = [*SERVE, str(tmp_path / "am-proxy.toml"), "--port", "0"]
    with terminal(command, folder=tmp_path, columns=2000) as screen:
        screen.wait_for("Try it:")
        url = re.findall(r"ready: (\S+)", screen.text)[0]
        post(url, {"model": "dead"})
        screen.wait_for("upstream fails")
        post(url, {"model": "small"})
        post(url, {"model": "dead"})
        httpx.get(url, timeout=50)
        for message in messages:
            screen.wait_for(f'"message": "{message}"')
        told = {line.split('"message": "')[1].split('"')[0] for line in screen.lines if line.startswith("{")}
    assert told == messages


SECRETS = """
Authorization: Bearer abcdefghijkl
authorization: Basic YWxpY2U6bGV0LW1lLWlu
{"authorization": "Bearer abc.def-ghi"}
x-api-key: 0123456789abcdef
{'X-Api-Key': '0123456789abcdef'}
{\\"api_key\\": \\"0123456789abcdef\\"}
api-key=0123456789abcdef&x=1
key AIzaSyA0123456789abcdefghijklmnopqrstuv refused
sk-proj-0123456789abcdef and sk-ant-api03-0123456789
gsk_0123456789abcdefghij
xoxb-123456789012-abcdefghijkl
AKIAIOSFODNN7EXAMPLE
am-qZ0123456789abcdefghij0123456789abcdefghij0
redis://user:let-me-in@cache:6379/0
password='let-me-in-please'
Bearer let-me-in
"""
PREFIXES = """
sk- pk_ rk- gsk_ csk- xai- hf_ r8_ nvapi- pplx- key- gho_ GHP_ ghs_ ghu_ github_pat_ glpat- xoxa- AIza AKIA ASIA eyJ
"""
LEGIBLE = """
turn model=gpt-4.1 finish=completed request_id=req_AM-1789654321000-a1b2c3d4
models/sk-learn and risk-free, a task-runner, hf_home, the am-proxy
listening on http://127.0.0.1:8080/v1, upstream https://api.example.com/v1/models@latest
bearer of news; basic idea; token=5 tokens
Basic authentication is required, Bearer authentication too.
upstream="openai" key="alice" input_tokens=120000
"""


@pytest.mark.parametrize("line", SECRETS.strip().splitlines())
def test_nothing_that_looks_like_a_key_is_told(line: str) -> None:
    told = without_keys(f"it said {line}.")
    parts = ("abcdefghij", "0123456789", "let-me-in", "YWxpY2U", "abc.def", "IOSFOD")
    assert "…" in told
    assert not [part for part in parts if part in told]


def test_every_kind_of_key_is_found_alone() -> None:
    assert [prefix for prefix in PREFIXES.split() if without_keys(f"{prefix}0123456789ab") != "…"] == []


@pytest.mark.parametrize("line", LEGIBLE.strip().splitlines())
def test_what_is_no_key_stays_legible(line: str) -> None:
    assert without_keys(line) == line
