"""The second compliance suite, against a running server."""

import json
import subprocess
import sys
from pathlib import Path

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
