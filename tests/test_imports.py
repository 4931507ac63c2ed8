"""Imports inside the package are relative, so that it works under another name as well."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.running import ROOT


def test_every_import_inside_the_package_is_relative() -> None:
    absolute = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "app").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "app")
        or (isinstance(node, ast.Import) and any(name.name.split(".")[0] == "app" for name in node.names))
    ]
    assert absolute == []


def test_the_package_runs_under_another_name(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "app", tmp_path / "renamed", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "renamed", "check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "the configuration is valid: 1 upstream, 1 model, no keys\n")
