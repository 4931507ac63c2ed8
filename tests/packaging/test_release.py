"""A release: version, tag and changelog agree, and what the workflow checks is what `make release` makes."""

import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.version import VERSION
from tests.support.changelog import PLACES, faults, released, sections, tag_faults, version_faults
from tests.support.running import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
WORKFLOWS = ROOT / ".github" / "workflows"
HEAD = "# Changelog\n\nWords.\n\n"
NEW = "## Unreleased\n\n### Added\n\n- One.\n\n### Changed\n\n### Fixed\n\n- Two.\n"
OLD = "\n## 0.2.0 - 2026-02-03\n\n- Old.\n\n## 0.1.0 - 2026-01-02\n\n- Oldest.\n"
DAY = date(2026, 3, 4)


def steps(name: str, job: str) -> list[dict[str, Any]]:
    """The steps of a job."""
    found: list[dict[str, Any]] = yaml.safe_load((WORKFLOWS / name).read_text())["jobs"][job]["steps"]
    return found


def script(name: str, job: str) -> str:
    """The one step of a job that uses the changelog."""
    [found] = [step["run"] for step in steps(name, job) if "tests.support.changelog" in step.get("run", "")]
    return str(found)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What a release changes and what it is checked with, as a fresh checkout has it."""
    for name in ("CHANGELOG.md", "Makefile", "tests/support/__init__.py", "tests/support/changelog.py", *PLACES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def ended(folder: Path, *command: str, tag: str = "") -> subprocess.CompletedProcess[str]:
    """A command that has run there, as a workflow for this tag would run it."""
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "GITHUB_REF_NAME": tag}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)


def test_the_changelog_is_in_order_and_its_newest_release_is_this_version() -> None:
    assert faults(CHANGELOG) == []
    newest = [each.version for each in sections(CHANGELOG)[1:2]]
    assert newest in ([], [VERSION])
    assert version_faults({name: (ROOT / name).read_text() for name in PLACES}, VERSION) == []


@pytest.mark.parametrize(
    ("changelog", "fault"),
    [
        (HEAD, 'the first section must be "Unreleased"'),
        (HEAD + OLD, 'the first section must be "Unreleased"'),
        (HEAD + NEW + "\n## 0.2.0 (2026-02-03)\n\n- Old.\n", '"0.2.0 (2026-02-03)" must be like "1.2.3 - 2026-12-31"'),
        (HEAD + NEW + "\n## 0.2.0 - 2026-02-03\n", '"0.2.0 - 2026-02-03" is empty'),
        (HEAD + NEW + OLD.replace("0.1.0", "0.10.0"), "the versions must go down from section to section"),
    ],
)
def test_a_changelog_that_is_not_in_order(changelog: str, fault: str) -> None:
    assert fault in faults(changelog)


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "expected"),
    [
        ("v0.2.0", "0.2.0", HEAD + NEW + OLD, []),
        ("v0.3.0", "0.2.0", HEAD + NEW + OLD, ["the tag is v0.3.0, the version in app/version.py is 0.2.0"]),
        ("v0.3.0", "0.3.0", HEAD + NEW + OLD, ['the changelog needs a section for 0.3.0 after "Unreleased"']),
        ("v0.1.0", "0.1.0", HEAD + NEW, ['the changelog needs a section for 0.1.0 after "Unreleased"']),
    ],
)
def test_a_tag_is_published_only_with_its_version_and_its_section(
    tag: str, version: str, changelog: str, expected: list[str]
) -> None:
    assert tag_faults(tag, version, changelog) == expected


@pytest.mark.parametrize("old", ["", OLD])
def test_a_release_dates_what_was_unreleased_and_keeps_the_rest(old: str) -> None:
    dated = "## Unreleased\n\n## 0.3.0 - 2026-03-04\n\n### Added\n\n- One.\n\n### Fixed\n\n- Two.\n"
    assert released(HEAD + NEW + old, "0.3.0", DAY) == HEAD + dated + old


@pytest.mark.parametrize(
    ("changelog", "version", "fault"),
    [
        (HEAD + NEW + OLD, "0.2.0", "must be above 0.2.0"),
        (HEAD + NEW + OLD, "v0.3.0", "must be like 1.2.3"),
        (HEAD + NEW + OLD, "", "must be like 1.2.3"),
        (HEAD + "## Unreleased\n\n### Added\n\n### Fixed\n" + OLD, "0.3.0", "nothing is unreleased"),
        (HEAD + OLD, "0.3.0", "first section"),
    ],
)
def test_a_release_that_cannot_be_is_refused(changelog: str, version: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        released(changelog, version, DAY)


def test_what_make_release_makes_passes_the_check_of_the_workflow_and_gives_its_notes(copy: Path) -> None:
    before = "- A change that was made for this test."
    (copy / "CHANGELOG.md").write_text(CHANGELOG.replace("## Unreleased\n", f"## Unreleased\n\n{before}\n", 1))
    check = script("ci.yml", "version")
    assert ended(copy, "bash", "-ec", check, tag="v98.7.6").returncode == 1

    made = ended(copy, "make", "release", "VERSION=98.7.6")
    assert made.returncode == 0, made.stderr
    assert "git tag v98.7.6" in made.stdout
    assert ended(copy, "bash", "-ec", check, tag="v98.7.6").returncode == 0
    refused = ended(copy, "bash", "-ec", check, tag="v98.7.5")
    assert refused.stderr == "the tag is v98.7.5, the version in app/version.py is 98.7.6\n"

    (copy / "app/version.py").write_text('VERSION = "98.7.5"\n')
    refused = ended(copy, "bash", "-ec", check, tag="v98.7.6")
    assert "deploy/kubernetes/am-proxy.yaml names the version 98.7.6\n" in refused.stderr
    (copy / "app/version.py").write_text('VERSION = "98.7.6"\n')

    notes = ended(copy, "make", "--no-print-directory", "release-notes").stdout
    assert notes.startswith(f"{before}\n")
    assert f"## 98.7.6 - {date.today().year}" in (copy / "CHANGELOG.md").read_text()  # noqa: DTZ011 — the year is enough
    assert notes.strip() in (copy / "CHANGELOG.md").read_text()


def test_both_publishing_workflows_wait_for_the_check_of_the_tag() -> None:
    assert yaml.safe_load((WORKFLOWS / "ci.yml").read_text())["jobs"]["version"]["if"] == "github.ref_type == 'tag'"
    for name in ("release.yml", "image.yml"):
        jobs = yaml.safe_load((WORKFLOWS / name).read_text())["jobs"]
        assert jobs["check"]["uses"] == "./.github/workflows/ci.yml"
        for job in jobs:
            waits, behind = [job], set()
            while waits:
                behind.add(current := waits.pop())
                waits += [jobs[current]["needs"]] if "needs" in jobs[current] else []
            assert "check" in behind, job


def test_the_notes_of_a_release_are_its_section() -> None:
    assert "tests.support.changelog notes > notes.md" in script("release.yml", "notes")
    assert "--notes-file notes.md" in script("release.yml", "notes")
