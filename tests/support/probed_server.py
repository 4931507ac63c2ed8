"""A server that speaks chat completions and Responses, and what `check --probe` says of it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from app.__main__ import main
from tests.wire.script import counts, says, stops
from tests.wire.servers import Ask, ChatUpstream, Json, ResponsesUpstream, Script, Status, Step
from tests.wire.servers.responses import answer, hosted, message, response

KEY = "sk-a-key-that-must-stay-secret"


SAYS = [says("one"), says(", two"), stops("length"), counts(7, 16)]


CUT: Json = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


FULL_USAGE = {**response(status="completed")["usage"], "output_tokens": 16}


TEXT_ANSWER = answer(message("msg_1", "one", ", two"), **CUT, usage=FULL_USAGE)


CALLS = answer(hosted("custom_tool_call", "ctc_1", call_id="call_1", name="answer", input="yes"))


IN_A_NAMESPACE = answer(
    hosted("function_call", "fc_1", call_id="call_1", name="answer", namespace="quiz", arguments='{"answer":"yes"}')
)


FUNCTION_CALLS = answer(hosted("function_call", "fc_1", call_id="call_1", name="answer", arguments='{"input":"yes"}'))


REFUSES_EMPTY = Status(400, {"error": {"message": "the body is empty"}})


NO_PATH = Status(404, {"error": {"message": "not found"}})


def listing(*names: str) -> Status:
    """The answer of `/v1/models` with these names."""
    return Status(200, {"object": "list", "data": [{"id": name} for name in names]})


def responses_script(
    talks: Sequence[Step] = TEXT_ANSWER,
    calls: Sequence[Step] = CALLS,
    spaces: Sequence[Step] = IN_A_NAMESPACE,
    functions: Sequence[Step] = TEXT_ANSWER,
) -> Script:
    """A server of Responses: what it says, and how it calls a custom tool, one in a namespace and a function."""
    by_type = {"custom": calls, "namespace": spaces, "function": functions}
    return lambda ask: by_type[ask.body["tools"][0]["type"]] if "tools" in ask.body else talks


class Server(ChatUpstream):
    """A server of several paths, each with its script; all other paths are unknown to it."""

    takes_empty_bodies = True

    def __init__(
        self, *, models: Script = (NO_PATH,), chat: Script = (NO_PATH,), responses: Script = (NO_PATH,)
    ) -> None:
        self._paths = {"/v1/models": models, "/v1/chat/completions": chat, "/v1/responses": responses}
        self._native = ResponsesUpstream.__new__(ResponsesUpstream)  # what it finds and frames, without its socket
        super().__init__(self._steps)

    @property
    def questions(self) -> list[Ask]:
        """What was asked, without the short questions about its list and its paths."""
        return [ask for ask in self.asks if ask.raw]

    def _steps(self, ask: Ask) -> list[Step]:
        script = self._paths.get(ask.path, (NO_PATH,))
        if ask.path != "/v1/models" and not ask.raw:  # a server that has the path looks at the body first
            is_status = not callable(script) and isinstance(script[0], Status) and script[0].status != 200
            return list(script) if is_status and not callable(script) else [REFUSES_EMPTY]
        return list(script(ask) if callable(script) else script)

    def _all_faults(self, ask: Ask) -> list[str]:
        if not ask.raw:
            return []
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
    assert title == f"--upstream {url}"
    return code, {line[:20].strip(): line[20:] for line in lines}


class Examined(NamedTuple):
    """What `am-proxy doctor` printed about one upstream."""

    code: int
    title: str
    steps: dict[str, str]
    """Each step with its mark and words; times are `N ms`."""
    advice: dict[str, str]
    """By the step that it belongs to."""
    verdict: str


def examined(code: int, printed: str) -> Examined:
    """What was printed about one upstream."""
    assert KEY not in printed
    title, *lines, empty, verdict = printed.removeprefix("configuration: config.toml\n").splitlines()
    assert empty == ""
    steps, advice, last = {}, {}, ""
    for line in lines:
        if step := re.fullmatch(r"  ([✓!✗·]) (\S.*?) {2,}(.*)|  ([✓!✗·]) (.{15}) (.*)", line):
            mark, last, words = (step[1], step[2], step[3]) if step[1] else (step[4], step[5].rstrip(), step[6])
            steps[last] = f"{mark} {re.sub(r'[0-9]+ ms', 'N ms', words)}"
        else:
            advice[last] = line.strip().removeprefix("→ ")
    return Examined(code, title, steps, advice, verdict)
