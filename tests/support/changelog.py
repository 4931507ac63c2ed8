"""CHANGELOG.md as releases use it. It needs nothing but Python, because workflows run it before anything is installed.

python -m tests.support.changelog release 0.2.0   date the section "Unreleased", and set the version
python -m tests.support.changelog notes           print the section of the current version
python -m tests.support.changelog check v0.2.0    fail unless tag, version and changelog agree
"""

import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PLACES: Final = {
    "app/version.py": re.compile(r'^VERSION = "(.+)"$', re.MULTILINE),
    "deploy/kubernetes/am-proxy.yaml": re.compile(r"^ +image: registry\.example\.com/am-proxy:(.+)$", re.MULTILINE),
}
"""Where the version stands."""
HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
RELEASE: Final = re.compile(r"(?P<version>\d+\.\d+\.\d+) - (?P<date>\d{4}-\d\d-\d\d)")
EMPTY_GROUP: Final = re.compile(r"^### .+\n+(?=### |\Z)", re.MULTILINE)
UNRELEASED: Final = "Unreleased"


class Section(NamedTuple):
    """The heading of a section, and its text."""

    title: str
    text: str

    @property
    def version(self) -> str | None:
        """The version, if the section is that of a release."""
        found = RELEASE.fullmatch(self.title)
        return found["version"] if found else None


def sections(changelog: str) -> list[Section]:
    """The sections of a changelog, from the newest to the oldest."""
    _, *parts = HEADING.split(changelog)
    return [Section(title, text.strip()) for title, text in zip(parts[::2], parts[1::2], strict=True)]


def faults(changelog: str) -> list[str]:
    """What is wrong with the sections."""
    first, *others = sections(changelog) or [Section("", "")]
    result = [] if first.title == UNRELEASED else [f'the first section must be "{UNRELEASED}"']
    result += [f'"{each.title}" must be like "1.2.3 - 2026-12-31"' for each in others if each.version is None]
    result += [f'"{each.title}" is empty' for each in others if not each.text]
    numbers = [_number(each.version) for each in others if each.version]
    if any(newer <= older for newer, older in pairwise(numbers)):
        result.append("the versions must go down from section to section")
    return result


def tag_faults(tag: str, version: str, changelog: str) -> list[str]:
    """What stands against publishing this version under this tag."""
    result = faults(changelog)
    if tag != f"v{version}":
        result.append(f"the tag is {tag}, the version in app/version.py is {version}")
    released = [each.version for each in sections(changelog)[1:2]]
    if released != [version]:
        result.append(f'the changelog needs a section for {version} after "{UNRELEASED}"')
    return result


def released(changelog: str, version: str, day: date) -> str:
    """The changelog in which what was unreleased is this version. Raises `ValueError` if that cannot be."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError("the version must be like 1.2.3")
    if wrong := faults(changelog):
        raise ValueError("; ".join(wrong))
    first, *others = sections(changelog)
    if others and _number(version) <= _number(others[0].version or ""):
        raise ValueError(f"the version must be above {others[0].version}")
    text = EMPTY_GROUP.sub("", f"{first.text}\n").strip()
    if not text:
        raise ValueError("nothing is unreleased")
    before, after = changelog.split(f"## {UNRELEASED}\n", 1)
    rest = after[after.index("\n## ") + 1 :] if others else ""
    dated = f"## {UNRELEASED}\n\n## {version} - {day.isoformat()}\n\n{text}\n"
    return before + dated + (f"\n{rest}" if rest else "")


def version_faults(texts: Mapping[str, str], version: str) -> list[str]:
    """Which of these files name another version."""
    found = {name: pattern.findall(texts[name]) for name, pattern in PLACES.items()}
    return [f"{name} names the version {', '.join(each)}" for name, each in found.items() if each != [version]]


def main(command: str = "", argument: str = "") -> int:
    """Run one command."""
    changelog = _read("CHANGELOG.md")
    texts = {name: _read(name) for name in PLACES}
    version = PLACES["app/version.py"].findall(texts["app/version.py"])[0]
    wrong: list[str] = []
    match command:
        case "release":
            try:
                _write("CHANGELOG.md", released(changelog, argument, datetime.now(UTC).date()))
            except ValueError as exc:
                wrong = [str(exc)]
            else:
                for name, pattern in PLACES.items():
                    _write(name, pattern.sub(lambda found: found[0].replace(found[1], argument), texts[name]))
                sys.stdout.write(f"Look at the change, and commit it. Then: git tag v{argument}\n")
        case "notes":
            notes = [each.text for each in sections(changelog) if each.version == version]
            sys.stdout.writelines(f"{text}\n" for text in notes)
            wrong = [] if notes else [f"the changelog has no section for {version}"]
        case "check":
            wrong = tag_faults(argument, version, changelog) + version_faults(texts, version)
        case _:
            wrong = [__doc__ or ""]
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return bool(wrong)


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _write(name: str, text: str) -> None:
    (ROOT / name).write_text(text, encoding="utf-8")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
