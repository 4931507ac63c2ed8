"""The second compliance suite, against a running server."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import httpx
import pytest

from tests.wire.foreign_judges import judge_compaction

TESTS = {
    "assistant-phase",
    "basic-response",
    "compact-missing-model",
    "compact-response",
    "error-handling",
    "image-input",
    "multi-turn",
    "reasoning-summary",
    "response-output-phase-schema",
    "streaming-response",
    "streaming-usage",
    "system-prompt",
    "tool-calling",
}


def test_llm_comply_passes_whole(demo_url: str) -> None:
    """It knows a wrong name for the summary events, so those are left out; gpt-5 is what it asks for reasoning."""
    command = [str(Path(sys.executable).parent / "llm-comply"), "--base-url", f"{demo_url}/v1", "--api-key", "any"]
    command += ["--model", "gpt-5", "--ignore", "reasoning_summary_text", "--json"]
    completed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    report = json.loads(completed.stdout)
    failed = [result for result in report["results"] if result["status"] != "passed"]
    assert not failed, failed
    assert {result["id"] for result in report["results"]} == TESTS
    assert report["summary"] == {"total": 13, "passed": 13, "failed": 0, "skipped": 0}
    assert completed.returncode == 0


@pytest.mark.parametrize(("name", "status"), [("compact-response", 200), ("compact-missing-model", 400)])
def test_what_it_only_advises_is_held_to_as_well(demo_url: str, name: str, status: int) -> None:
    """It would be content with a 404, and tells its doubts to nobody."""
    config = import_module("llm_comply.config").ComplianceConfig(f"{demo_url}/v1", "any", model="demo")
    context = import_module("llm_comply.test_case").ValidatorContext()
    [case] = [case for case in import_module("llm_comply.tests.open_responses").OPEN_RESPONSES_TESTS if case.id == name]
    answer = httpx.post(f"{demo_url}/v1{case.endpoint}", json=case.build_request(config))
    assert answer.status_code == status
    assert [doubt for doubts in case.validators for doubt in doubts(answer.json(), context)] == []
    if status == 200:
        judge_compaction(answer.json())
