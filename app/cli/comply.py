"""`am-proxy comply`: asks any Responses server what clients ask, and says which of them break on it, and why."""

import asyncio
import json
import os
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ..http_client.proxies import PROXY_SCHEMES, proxy_for
from ..judges import Finding, TypesJudge, client_rules
from .comply_client import BrokenError, ComplyClient
from .comply_questions import OVER_WEBSOCKET, QUESTIONS, Question
from .rows import MARKS, STYLES, State, show
from .style import colour_wanted, harmless, painted

_SHORTEST_KEY: Final = 8
"""Characters. A shorter key is no secret."""
_TITLE: Final = 14
_LONGEST_WAIT: Final = 600
"""Seconds for one question, however slow the model is."""
_MOST_SLOW: Final = 3
"""Questions that may take so long. After them nothing more is asked."""
_TOO_SLOW: Final = Finding(client_rules.ANSWERED, f"it took more than {_LONGEST_WAIT} s", "")
_NOT_ASKED: Final = Finding(client_rules.ANSWERED, f"not asked: {_MOST_SLOW} questions took too long", "")


class QuestionResult(NamedTuple):
    """A question and what its answer breaks."""

    name: str
    findings: list[Finding]

    @property
    def state(self) -> State:
        """How it went."""
        if any(finding.rule.is_fault for finding in self.findings):
            return "error"
        return "warning" if self.findings else "ok"


class _WrongFlagError(Exception):
    """A flag that cannot be used: a sentence without its last period."""


def comply(url: str, *, model: str | None, key: str | None, websocket: bool, as_json: bool) -> int:
    """Ask all questions and print what was found. Returns 1 if a client breaks, 2 for a wrong flag."""
    try:
        address, secret = _address(url), _key(key or "")
    except _WrongFlagError as error:
        print(f"am-proxy: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_comply(address, model, secret, websocket=websocket, as_json=as_json))


async def _comply(url: str, model: str | None, key: str, *, websocket: bool, as_json: bool) -> int:
    types = TypesJudge()
    client = ComplyClient(url, model or "", key, types)
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            client.model = model or await _first_model(client)
    except (BrokenError, TimeoutError) as caught:
        error = str(caught) or f"GET /models took more than {_LONGEST_WAIT} s"
        print(harmless(_clean(f"am-proxy: {client.url}: {error}", key)), file=sys.stderr)
        return 1
    if not as_json:
        print(harmless(f"{client.url}, model {client.model}"), end="\n\n")
        if types.trouble:
            print(f"note: {types.trouble}\n")
    asked: list[QuestionResult] = []
    explained: set[str] = set()
    slow = 0
    for name, question in {**QUESTIONS, **(OVER_WEBSOCKET if websocket else {})}.items():
        findings = [_NOT_ASKED] if slow == _MOST_SLOW else await _findings(client, question)
        slow += _TOO_SLOW in findings
        asked.append(QuestionResult(name, [_without(key, finding) for finding in findings]))
        if not as_json:
            _print(asked[-1], explained)
    if as_json:
        print(json.dumps(_as_json(client, types, asked), indent=2))
    else:
        print(f"\nThe longest silence in a stream was {client.longest_silence:.1f} s.")
        print(_verdict(asked))
    return int(any(each.state == "error" for each in asked))


async def _findings(client: ComplyClient, question: Question) -> list[Finding]:
    """What the answer to one question breaks."""
    client.found = []
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            await question(client)
    except BrokenError as broken:
        client.found.append(broken.finding)
    except TimeoutError:
        client.found.append(_TOO_SLOW)
    except RecursionError:
        client.found.append(Finding(client_rules.ANSWERED, "the answer is nested too deeply", ""))
    return client.found


async def _first_model(client: ComplyClient) -> str:
    answer = await client.asked("GET", "/models")
    data = answer.body.get("data") if isinstance(answer.body, dict) else None
    names = [each.get("id") for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    name = next((name for name in names if isinstance(name, str) and name), None)
    if answer.status == HTTPStatus.OK and name is not None:
        return name
    message = f"GET /models answers {answer.status} and names no model; choose one with --model"
    raise BrokenError(client_rules.ANSWERED, message)


def _address(url: str) -> str:
    """The base URL. Its path may end with that of the endpoint."""
    wrong = _WrongFlagError(f"{url} is no address of a server; it looks like http://127.0.0.1:8080/v1")
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise wrong
    if "@" in parts.netloc:
        raise _WrongFlagError("an address has no user and no password; --key is for the key")
    if parts.query or parts.fragment:
        raise _WrongFlagError(f"{url} is no base URL: nothing may follow its path")
    path = parts.path.rstrip("/").removesuffix("/responses")
    address = f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
    proxy = urlsplit(proxy_for(address) or "http:").scheme
    if proxy not in PROXY_SCHEMES:
        raise _WrongFlagError(f"the proxy in the environment speaks {proxy}; only http and https proxies can be used")
    return address


def _key(text: str) -> str:
    """The key that `env:NAME` or `file:PATH` leads to; any other text is the key."""
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "env":
        if not os.environ.get(rest):
            raise _WrongFlagError(f"--key: the environment variable {rest} is not set")
        text = os.environ[rest]
    elif colon and scheme == "file":
        try:
            text = Path(rest).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise _WrongFlagError(f"--key: the file {rest} cannot be read") from None
    if not text.isascii() or not text.isprintable() or " " in text:
        raise _WrongFlagError("--key: a key has no spaces, line breaks or special characters")
    return text


def _print(asked: QuestionResult, explained: set[str]) -> None:
    """A question and its findings. A rule is explained where it is broken first."""
    _row(f"  {MARKS[asked.state]} ", asked.name, asked.state)
    for finding in asked.findings:
        state: State = "error" if finding.rule.is_fault else "warning"
        _row(f"      {MARKS[state]} {finding.rule.name:<{_TITLE}} ", finding.detail, state)
        if finding.rule.name in explained:
            continue
        explained.add(finding.rule.name)
        for title, text in (("should be", finding.rule.says), ("breaks", finding.rule.breaks), ("seen", finding.quote)):
            if text:
                show(f"        {title:<{_TITLE}} ", text, (), is_quote=title == "seen")


def _row(title: str, text: str, state: State) -> None:
    mark = MARKS[state]
    shown = painted(mark, *STYLES[state], colour=colour_wanted(sys.stdout))
    show(title, text, (), coloured=title.replace(mark, shown, 1))


def _verdict(asked: list[QuestionResult]) -> str:
    findings = [finding for each in asked for finding in each.findings]
    faults = sorted({finding.rule.name for finding in findings if finding.rule.is_fault})
    notes = sorted({finding.rule.name for finding in findings if not finding.rule.is_fault})
    noted = f" Noted: {', '.join(notes)}." if notes else ""
    if not faults:
        return f"{len(asked)} questions: no client is known to break.{noted}"
    return f"{len(asked)} questions. Broken rules: {', '.join(faults)}.{noted}"


def _as_json(client: ComplyClient, types: TypesJudge, asked: list[QuestionResult]) -> dict[str, Any]:
    return {
        "url": client.url,
        "model": client.model,
        "passed": all(each.state != "error" for each in asked),
        "longest_silence": round(client.longest_silence, 1),
        "notes": [types.trouble] if types.trouble else [],
        "questions": [
            {
                "name": each.name,
                "passed": each.state != "error",
                "findings": [finding.as_json() for finding in each.findings],
            }
            for each in asked
        ],
    }


def _without(key: str, finding: Finding) -> Finding:
    return finding._replace(detail=_clean(finding.detail, key), quote=_clean(finding.quote, key))


def _clean(text: str, key: str) -> str:
    return text.replace(key, "…") if len(key) >= _SHORTEST_KEY else text
