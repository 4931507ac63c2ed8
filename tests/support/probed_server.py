"""A server that speaks chat completions and Responses, and what `check --probe` says of it."""

from collections.abc import Sequence

import pytest

from app.__main__ import main
from tests.support.script import counts, says, stops
from tests.support.servers import Ask, ChatUpstream, Json, ResponsesUpstream, Script, Status, Step
from tests.support.servers.responses import answer, hosted, message, response

KEY = "sk-a-key-that-must-stay-secret"


SAYS = [says("one"), says(", two"), stops("length"), counts(7, 16)]


CUT: Json = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


FULL_USAGE = {**response(status="completed")["usage"], "output_tokens": 16}


TEXT_ANSWER = answer(message("msg_1", "one", ", two"), **CUT, usage=FULL_USAGE)


CALLS = answer(hosted("custom_tool_call", "ctc_1", call_id="call_1", name="answer", input="yes"))


NO_PATH = Status(404, {"error": {"message": "not found"}})


def listing(*names: str) -> Status:
    """The answer of `/v1/models` with these names."""
    return Status(200, {"object": "list", "data": [{"id": name} for name in names]})


def responses_script(talks: Sequence[Step] = TEXT_ANSWER, calls: Sequence[Step] = CALLS) -> Script:
    """A server of Responses: what it says, and how it calls a custom tool."""
    return lambda ask: calls if "tools" in ask.body else talks


class Server(ChatUpstream):
    """A server of several paths, each with its script; all other paths are unknown to it."""

    takes_empty_bodies = True

    def __init__(
        self, *, models: Script = (NO_PATH,), chat: Script = (NO_PATH,), responses: Script = (NO_PATH,)
    ) -> None:
        self._paths = {"/v1/models": models, "/v1/chat/completions": chat, "/v1/responses": responses}
        self._native = ResponsesUpstream.__new__(ResponsesUpstream)  # what it finds and frames, without its socket
        super().__init__(self._steps)

    def _steps(self, ask: Ask) -> list[Step]:
        script = self._paths[ask.path]
        return list(script(ask) if callable(script) else script)

    def _all_faults(self, ask: Ask) -> list[str]:
        if ask.path == "/v1/models":
            return [] if ask.raw == b"" else ["a body in a GET request"]
        return self._native.faults(ask) if ask.path == "/v1/responses" else super()._all_faults(ask)

    def frame(self, step: Json, ask: Ask) -> bytes:
        return self._native.frame(step, ask) if ask.path == "/v1/responses" else super().frame(step, ask)


def probed(url: str, capsys: pytest.CaptureFixture[str], via: str = "chat", *flags: str) -> tuple[int, dict[str, str]]:
    """The exit code, and what is said of this server, by its titles."""
    code = main(["check", "--probe", "--upstream", url, "--via", via, "--upstream-key", "env:THE_KEY", *flags])
    printed = capsys.readouterr()
    assert printed.err == "the configuration is valid: 1 upstream, 1 model, no keys\n"
    assert KEY not in printed.out
    title, *lines = printed.out.splitlines()
    assert title == f"upstreams.upstream: {url}"
    return code, {line[:20].strip(): line[20:] for line in lines}
