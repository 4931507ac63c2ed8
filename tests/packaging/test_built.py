"""What is in the wheel and in the sdist."""

import ast
import re
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from sys import stdlib_module_names

import pytest

from app.version import VERSION
from tests.support.packages import build
from tests.support.running import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INFO = f"am_proxy-{VERSION}.dist-info"
ADDRESS = "https://forge.example/someone/am-proxy"
COMES_WITH = {"httpx": "litellm", "pydantic-core": "pydantic"}
"""Packages that are imported together with a dependency that cannot be without them."""
LATER_PYTHONS = {"compression"}
"""Modules of the standard library since a Python that is later than the oldest one."""
MARKDOWN = re.compile(r"\]\((?!#)([^)\s]+)")


def distribution(requirement: str) -> str:
    """The name in a requirement."""
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", tmp_path_factory.mktemp("sdist"))


def files(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, without its own description."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.startswith(INFO)}


def metadata(wheel: Path) -> Message:
    """The description of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return message_from_string(opened.read(f"{INFO}/METADATA").decode())


def test_the_wheel_holds_the_folder_app_under_a_name_that_no_other_project_has(wheel: Path) -> None:
    ours = {
        f"am_proxy/{path.relative_to(ROOT / 'app')}": path.read_bytes()
        for path in (ROOT / "app").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "am_proxy/inspector/static/index.html" in ours
    assert files(wheel) == ours


def test_a_wheel_made_from_the_sdist_is_the_same(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as opened:
        opened.extractall(tmp_path, filter="data")
    again = build("wheel", tmp_path / "again", source=tmp_path / f"am_proxy-{VERSION}")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_sdist_holds_what_it_is_built_from_and_no_more(sdist: Path) -> None:
    with tarfile.open(sdist) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames()}
    assert {name for name in names if not name.startswith("app/")} == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "config.example.toml",
        "deploy/checkout/am_proxy/__init__.py",
        "hatch_build.py",
        "pyproject.toml",
    }


def test_the_command_is_in_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read(f"{INFO}/entry_points.txt").decode() == (
            "[console_scripts]\nam-proxy = am_proxy.__main__:main\n"
        )
        assert opened.read(f"{INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


def test_the_package_page_says_what_it_is_who_made_it_and_which_version(wheel: Path) -> None:
    found = metadata(wheel)
    assert (found["Name"], found["Version"], found["Author"]) == ("am-proxy", VERSION, "The AM Proxy authors")
    assert (found["License-Expression"], found["Requires-Python"]) == ("MIT", ">=3.11")
    assert "responses-api" in found["Keywords"].split(",")
    assert "Environment :: Console" in found.get_all("Classifier", [])
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload() == (ROOT / "README.md").read_text()
    assert found.get_all("Project-URL") is None


def test_with_an_address_of_the_project_every_link_and_image_of_the_page_leads_there(tmp_path: Path) -> None:
    found = metadata(build("wheel", tmp_path, environ={"PROJECT_URL": f"{ADDRESS}/"}))
    urls = dict(line.split(", ") for line in found.get_all("Project-URL", []))
    assert urls["Source"] == ADDRESS
    assert urls["Changelog"] == f"{ADDRESS}/blob/v{VERSION}/CHANGELOG.md"

    before, after = (ROOT / "README.md").read_text(), str(found.get_payload())
    assert [link for link in MARKDOWN.findall(after) if ":" not in link] == []
    assert re.findall(r'(?:src|srcset|href)="(?!https?:|#)', after) == []
    leading = re.compile(rf"{ADDRESS}/(blob|raw)/v{re.escape(VERSION)}/")
    linked = [leading.sub("", link) for link in re.findall(rf"{ADDRESS}/[^)\"\s#]+", after)]
    assert len(linked) > 10
    assert [file for file in linked if not (ROOT / file).exists()] == []
    assert leading.sub("", after) == before
    assert set(re.findall(rf"{ADDRESS}/raw/\S+\.(\w+)", after)) <= {"png", "svg"}


def test_every_package_that_the_code_imports_is_a_dependency_and_every_dependency_is_used() -> None:
    core = {distribution(line) for line in PROJECT["dependencies"]}
    extras = PROJECT["optional-dependencies"]
    extra = {distribution(line) for line in extras["otel"]}
    owners = packages_distributions()
    found: dict[str, set[str]] = {}
    for file in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for module in {name.split(".")[0] for name in modules} - stdlib_module_names - LATER_PYTHONS:
                found.setdefault(file.name, set()).update(
                    distribution(re.sub("[_.]", "-", owner)) for owner in owners[module]
                )
    assert found.pop("tracing.py") >= {"opentelemetry-sdk"}
    imported = set().union(*found.values())
    assert imported - core == set(COMES_WITH)
    for package, bringer in COMES_WITH.items():
        assert package in {distribution(line) for line in requires(bringer) or ()}
    assert core - imported == {"litellm", "uvloop"}, "these are imported by name, or by uvicorn"
    assert extra == {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"}
