"""Traces without their library."""

from typing import Any

from tests.support.running import ROOT, run


def test_a_collector_without_the_library_is_a_clear_refusal(tmp_path: Any) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['opentelemetry.exporter'] = None")
    environ = {"AM_TRACES": "http://127.0.0.1:1/v1/traces", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    result = run("serve", "--port", "0", folder=tmp_path, environ=environ)
    assert (result.returncode, "pip install '.[otel]'" in result.stderr) == (1, True)
