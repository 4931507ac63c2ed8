"""The judges know every event that the `openai` package knows, at whatever version it is here."""

import json
import subprocess
import sys
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


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(Path(sys.executable), id="litellm's"),
        pytest.param(NEWEST, id="the newest", marks=pytest.mark.needs("the Python clients")),
    ],
)
def test_every_event_of_the_package_is_known(python: Path) -> None:
    listed = subprocess.run([python, "-c", _TYPES], capture_output=True, check=True)
    types: set[str] = set(json.loads(listed.stdout))
    assert len(types) > 50
    assert types - REQUIRED.keys() - OTHERS == {"error"}
