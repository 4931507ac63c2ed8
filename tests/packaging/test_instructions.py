"""What people are told to install can be had: AM Proxy is in no package index and on no image registry."""

import re
from pathlib import Path

import pytest

from tests.support.running import ROOT

ELSEWHERE = re.compile(
    r"""am[-_]proxy\[                                                        # the name with an extra
    | \b(?:pip|pipx|uv\ tool|uv\ pip)\ (?:install|run|inject)\b(?:\ -[-\w]+)*\ ['"]?am[-_]proxy\b
    | \buvx\ (?:-[-\w]+\ )*am[-_]proxy\b                                   # without --from .
    | \buv\ add\ am[-_]proxy\b
    | \b(?:docker|podman)\ pull\ \S*am-proxy
    | \bbrew\ install\b
    """,
    re.VERBOSE,
)


def found() -> list[str]:
    """The places of such instructions in all files that a person reads."""
    folders = [ROOT / name for name in (".github", "app", "bench", "deploy", "docs", "tests")]
    files = [*ROOT.glob("*"), *(file for folder in folders for file in folder.rglob("*"))]
    texts = (
        (file, file.read_text(encoding="utf-8"))
        for file in files
        if file.is_file() and file != Path(__file__) and file.suffix not in {".lock", ".png", ".pyc"}
    )
    return [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, place.start()) + 1}"
        for file, text in texts
        for place in ELSEWHERE.finditer(text)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "pip install 'am-proxy[otel]'",
        "needs am-proxy[seal]",
        "pip install am-proxy",
        "pip install --upgrade am-proxy",
        "pipx install am_proxy",
        "pipx run am-proxy",
        "uv tool install am-proxy",
        "uvx am-proxy serve",
        "docker pull ghcr.io/someone/am-proxy",
    ],
)
def test_an_instruction_that_cannot_work_is_found(line: str) -> None:
    assert ELSEWHERE.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install '.[otel]'",
        "pipx install .",
        "uvx --from . am-proxy serve",
        "uv tool install .",
        "docker build -t am-proxy .",
        "pipx uninstall am-proxy",
    ],
)
def test_an_instruction_that_works_is_not(line: str) -> None:
    assert not ELSEWHERE.search(line)


def test_no_instruction_names_a_package_that_cannot_be_had() -> None:
    assert found() == []
