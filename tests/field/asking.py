"""Judges a server with `python -m tests.judges`, and takes what belongs to this machine out of the answer."""

import http.client
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.conformance.install import own_version
from tests.support.running import ROOT, surroundings

Json = dict[str, Any]
LONGEST_QUOTE: Final = 160
"""Characters of an event that are kept."""
PATIENCE: Final = 900
"""Seconds for all questions to one server."""
PORT: Final = 8080
"""The one that the page shows for the server."""
_UPGRADE: Final = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


class Address(NamedTuple):
    """Where a server is asked, and how it was started."""

    url: str
    """Its base URL, with /v1."""
    model: str
    key: str = ""
    how: str = ""
    """What a reader enters to start it, with the paths and ports of this machine."""
    files: Mapping[str, str] = {}
    """The configuration that it reads, by the name of the file."""
    folder: Path = ROOT
    upstream: str = ""
    """The address of the server behind it."""


def websocket_status(address: Address) -> int:
    """What the server answers to a client that asks for a websocket: 101 if it has one."""
    parts = urlsplit(address.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    headers = _UPGRADE | ({"Authorization": f"Bearer {address.key}"} if address.key else {})
    try:
        connection.request("GET", f"{parts.path}/responses", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def asked(address: Address) -> Json:
    """What was found, and how to repeat it."""
    status = websocket_status(address)
    flags = ["--model", address.model, *(["--key", address.key] if address.key else [])]
    flags += ["--websocket"] if status == HTTPStatus.SWITCHING_PROTOCOLS else []
    command = ["-m", "tests.judges", address.url, *flags]
    ended = subprocess.run(
        [sys.executable, *command, "--json"],
        cwd=ROOT,
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if not ended.stdout:
        raise RuntimeError(ended.stderr)
    answer = json.loads(ended.stdout)
    clean = Cleaned(address)
    return {
        "websocket": status,
        "openai": own_version("openai"),
        "how": clean(address.how),
        "files": {name: clean(text) for name, text in address.files.items()},
        "judged": clean(shlex.join(["python", *command])),
        "questions": {
            name: [
                {**finding, "detail": clean(finding["detail"]), "quote": shortened(clean(finding["quote"]))}
                for finding in findings
            ]
            for name, findings in answer["questions"].items()
        },
    }


class Cleaned:
    """A text without the paths, ports and keys of this machine."""

    def __init__(self, address: Address) -> None:
        self._replaced = [
            (f":{urlsplit(address.url).port}", f":{PORT}"),
            (f"--port {urlsplit(address.url).port}", f"--port {PORT}"),
            (f'"port": {urlsplit(address.url).port}', f'"port": {PORT}'),
            *([(f":{urlsplit(address.upstream).port}", ":8000")] if address.upstream else []),
            *([(address.key, "KEY")] if address.key else []),
            *sorted(
                {
                    (f"{address.folder}/", "" if address.folder == ROOT else "FOLDER/"),
                    (f"{ROOT}/", ""),
                    (f"{ROOT.resolve()}/", ""),
                },
                key=lambda pair: -len(pair[0]),
            ),
        ]

    def __call__(self, text: str) -> str:
        """The text as the page may show it."""
        for found, shown in self._replaced:
            text = text.replace(found, shown)
        return text


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
