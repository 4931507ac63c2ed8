"""The judges know every event that the `openai` package knows, at whatever version it is here."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.judges.event_table import OTHERS, REQUIRED

NEWEST = Path(__file__).parents[2] / ".cache" / "clients" / "bin" / "python"
"""Of the environment into which `make conformance` installs the clients."""
_TYPES = """
import json, typing
from openai.types.responses import ResponsesServerEvent, ResponseStreamEvent
unions = [typing.get_args(each)[0] for each in (ResponsesServerEvent, ResponseStreamEvent)]
fields = [event.model_fields["type"] for union in unions for event in typing.get_args(union)]
print(json.dumps([typing.get_args(field.annotation)[0] for field in fields]))
"""


def unknown(listed: str) -> set[str]:
    types: set[str] = set(json.loads(listed))
    assert len(types) > 50
    return types - REQUIRED.keys() - OTHERS


def test_every_event_of_the_package_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    exec(_TYPES, {})
    assert unknown(capsys.readouterr().out) == {"error"}


@pytest.mark.needs("the Python clients")
def test_every_event_of_the_newest_package_is_known() -> None:
    listed = subprocess.run([NEWEST, "-c", _TYPES], capture_output=True, check=True, text=True)
    assert unknown(listed.stdout) == {"error"}
