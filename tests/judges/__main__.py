"""Asks any Responses server what clients ask, and says which of them break on its answers, and why.

The exit code is 1 if a client is known to break or the server does not answer, and 2 for a wrong flag.
"""

import argparse
import asyncio
import json
import sys
import textwrap
from collections.abc import AsyncIterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from . import Finding
from . import client_rules as rules
from .client import BrokenError, Client
from .questions import OVER_WEBSOCKET, QUESTIONS

LONGEST_WAIT: Final = 600
"""Seconds for one question, however slow the model is."""
_MOST_SLOW: Final = 3
"""Questions that may take so long. After them nothing more is asked."""
_TOO_SLOW: Final = Finding(rules.ANSWERED, f"it took more than {LONGEST_WAIT} s", "")
_NOT_ASKED: Final = Finding(rules.ANSWERED, f"not asked: {_MOST_SLOW} questions took too long", "")
_SHORTEST_KEY: Final = 8
"""Characters. A shorter key is no secret."""
_WIDTH: Final = 100


async def asked(client: Client, *, websocket: bool) -> AsyncIterator[tuple[str, list[Finding]]]:
    """The name of each question, and what its answer breaks."""
    slow = 0
    for name, question in {**QUESTIONS, **(OVER_WEBSOCKET if websocket else {})}.items():
        client.found = []
        if slow == _MOST_SLOW:
            yield name, [_NOT_ASKED]
            continue
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await question(client)
        except BrokenError as broken:
            client.found.append(broken.finding)
        except TimeoutError:
            client.found.append(_TOO_SLOW)
            slow += 1
        except RecursionError:
            client.found.append(Finding(rules.ANSWERED, "the answer is nested too deeply", ""))
        yield name, client.found


class Report:
    """What is printed, without the key and without what a terminal would obey."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _SHORTEST_KEY else ""
        self._explained: set[str] = set()

    def say(self, text: str) -> None:
        """One line or more."""
        shown = text.replace(self._key, "…") if self._key else text
        sys.stdout.write("".join(each if each.isprintable() or each == "\n" else "?" for each in f"{shown}\n"))
        sys.stdout.flush()

    def question(self, name: str, findings: Sequence[Finding]) -> None:
        """A question and its findings. A rule is explained where it is broken first."""
        is_fault = any(finding.rule.is_fault for finding in findings)
        self.say(f"  {'✗' if is_fault else '!' if findings else '✓'} {name}")
        for rule, detail, quote in findings:
            self._row(f"    {'✗' if rule.is_fault else '!'} {rule.name}", detail)
            if rule.name not in self._explained:
                self._explained.add(rule.name)
                for title, text in (("should be", rule.says), ("breaks", rule.breaks), ("seen", quote)):
                    self._row(f"      {title}", text)

    def _row(self, title: str, text: str) -> None:
        if text:
            self.say(textwrap.fill(text, _WIDTH, initial_indent=f"{title:<24} ", subsequent_indent=" " * 25))


async def _judge(client: Client, report: Report, *, websocket: bool, as_json: bool) -> int:
    client.model = client.model or await client.first_model()
    if not as_json:
        report.say(f"{client.url}, model {client.model}\n{client.types.trouble}")
    found: dict[str, list[Finding]] = {}
    async for name, findings in asked(client, websocket=websocket):
        found[name] = findings
        if not as_json:
            report.question(name, findings)
    broken = {finding.rule for findings in found.values() for finding in findings}
    faults, notes = (sorted(rule.name for rule in broken if rule.is_fault is each) for each in (True, False))
    if as_json:
        told = {
            "url": client.url,
            "model": client.model,
            "longest_silence": round(client.longest_silence, 1),
            "trouble": client.types.trouble,
            "questions": {name: [finding.as_json() for finding in findings] for name, findings in found.items()},
        }
        report.say(json.dumps(told, indent=2))
    else:
        report.say(f"\nThe longest silence in a stream was {client.longest_silence:.1f} s.")
        verdict = f"Broken rules: {', '.join(faults)}." if faults else "No client is known to break."
        report.say(f"{len(found)} questions. {verdict}" + (f" Noted: {', '.join(notes)}." if notes else ""))
    return int(bool(faults))


def base_url(text: str) -> str:
    """The base URL of a server. What is given may end with the path of the endpoint."""
    parts = urlsplit(text if "://" in text else f"http://{text}")
    _ = parts.port  # a ValueError if it is no number
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ValueError(text)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/responses') or '/v1'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.judges", description=__doc__)
    parser.add_argument("url", metavar="URL", type=base_url, help="as clients have it, mostly with /v1")
    parser.add_argument("--model", default="", help="model to ask (default: the first that the server lists)")
    parser.add_argument("--key", default="", help="key of the server")
    parser.add_argument("--websocket", action="store_true", help="ask over a websocket, too")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    flags = parser.parse_args(arguments)
    client, report = Client(flags.url, flags.model, flags.key), Report(flags.key)
    try:
        return asyncio.run(_judge(client, report, websocket=flags.websocket, as_json=flags.json))
    except BrokenError as error:
        sys.stderr.write(f"{flags.url}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
