"""`am-proxy check --probe` with a configuration file: which upstreams and which models are asked."""

from pathlib import Path

import pytest

from app.__main__ import main
from tests.support.probed_server import KEY, SAYS, Server, listing

YES_CHAT = "yes: streamed, with usage, finish reason length"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


FILE = """\
upstreams.demo.via = "demo"
upstreams.far = {{provider = "deepseek"}}
[upstreams.near]
via = "chat"
base_url = "{url}"
[models]
d.upstream = "demo"
"*" = {{upstream = "near", name = "theirs"}}
"""


def test_every_upstream_of_the_file_is_reported_and_asked_for_its_own_models(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(models=[listing("a", "b", "c", "d")], chat=SAYS) as server:
        (folder / "config.toml").write_text(FILE.format(url=server.url))
        assert main(["check", "--probe"]) == 0
        assert [ask.body["model"] for ask in server.questions] == ["theirs", "theirs"]
    assert (
        capsys.readouterr().out
        == f"""\
upstreams.demo not probed: it runs inside this server
upstreams.far not probed: without a base_url only litellm finds it
upstreams.near {server.url}
  reachable         yes
  asked for         theirs (named in [models])
  chat completions  {YES_CHAT}
  Responses         no: this server has no /responses
  suits it          via = "chat"
  configured        via = "chat", which works
"""
    )


def test_of_an_upstream_on_the_command_line_only_that_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(chat=SAYS) as server, Server(chat=SAYS) as other:
        (folder / "config.toml").write_text(FILE.format(url=other.url))
        code, printed = probed_next_to_a_file(server.url, capsys)
        assert (code, list(printed), other.asks) == (0, [f"--upstream {server.url}"], [])


def probed_next_to_a_file(url: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code, and the titles of the upstreams that were asked."""
    code = main(["check", "--probe", "--upstream", url, "--via", "chat"])
    return code, [line for line in capsys.readouterr().out.splitlines() if "http://" in line]
