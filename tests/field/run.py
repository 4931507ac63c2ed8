"""Test Responses servers: `python -m tests.field.run [--server NAME …]`.

It keeps what was found of these servers in `found.json`, and writes docs/field.md from it. It ends with 1 when a client
is known to break on this server itself.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.conformance.install import ROOT
from tests.field.asking import Json, asked
from tests.field.page import FOUND, PAGE, page
from tests.field.servers import SERVERS, Stage, Tested
from tests.servers.install import NotThereError


def result_of(tested: Tested, stage: Stage) -> Json:
    """What was found of one server, or why it was not run."""
    ground = {"date": datetime.now(UTC).date().isoformat()}
    try:
        with tested.start(stage) as address:
            return ground | {"version": tested.version(), **asked(address)}
    except (NotThereError, RuntimeError, OSError, subprocess.SubprocessError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        return ground | {"not_run": lines[-1].replace(f"{ROOT}/", "").strip()}


def broken(found: Json) -> list[str]:
    """The rules on whose breaking a client is known to break."""
    return sorted(
        {
            finding["rule"]
            for findings in found.get("questions", {}).values()
            for finding in findings
            if finding["is_fault"]
        }
    )


def drive(names: Sequence[str]) -> dict[str, Json]:
    """Test these servers, one after another."""
    found: dict[str, Json] = {}
    with tempfile.TemporaryDirectory(prefix="field-", ignore_cleanup_errors=True) as folder:
        stage = Stage(Path(folder))
        try:
            for name in names:
                found[name] = result_of(SERVERS[name], stage)
                said = found[name].get("not_run") or ", ".join(broken(found[name])) or "no client is known to break"
                sys.stdout.write(f"{name}: {said}\n")
                sys.stdout.flush()
        finally:
            stage.end()
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="judge Responses servers")
    parser.add_argument("--server", action="append", choices=list(SERVERS), default=[])
    arguments = parser.parse_args()
    known: dict[str, Json] = json.loads(FOUND.read_text("utf-8")) if FOUND.is_file() else {}
    found = known | drive(arguments.server or list(SERVERS))
    found = {name: found[name] for name in SERVERS if name in found}
    FOUND.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(found), "utf-8")
    sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    own = [name for name, each in found.items() if name.startswith("own-") and (broken(each) or "not_run" in each)]
    return int(bool(own))


if __name__ == "__main__":
    sys.exit(main())
