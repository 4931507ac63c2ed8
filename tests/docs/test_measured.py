"""Figures that pages show are those that the measurements wrote."""

import re
from pathlib import Path

import pytest

from tests.docs import measured, sizing
from tests.support.running import ROOT

_FROM_EIGHT = "eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
NUMBERS = dict(enumerate(_FROM_EIGHT.split(), 8))


@pytest.mark.parametrize("page", ["README.md", "docs/comparison.md"])
def test_the_table_of_measured_facts_is_current(page: str, blessed: Path | None) -> None:
    if blessed == ROOT / "docs":
        measured.bless(page, measured.table())
    assert measured.shown(page) == measured.table()


def test_the_worked_example_of_scaling_is_computed_from_the_measured_figures(blessed: Path | None) -> None:
    if blessed == ROOT / "docs":
        measured.bless("docs/scaling.md", sizing.example())
    assert measured.shown("docs/scaling.md") == sizing.example()


def test_the_table_compares_with_the_measured_figures() -> None:
    small = measured.table_of("codex: 60 kB")
    ratio = float(small["LiteLLM proxy"]["ms CPU per request"]) / float(small["AM Proxy, chat"]["ms CPU per request"])
    (row,) = (line for line in measured.table().splitlines() if "Codex request" in line)
    assert float(row.split("|")[3].removesuffix(" times ")) == pytest.approx(ratio, abs=0.05)


@pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
def test_a_page_says_how_many_clients_and_behaviours_are_tested(page: str) -> None:
    ((clients, behaviours, broken),) = set(measured.conformance())
    assert broken == 0
    text = (ROOT / page).read_text()
    assert set(re.findall(r"(\w+) real clients", text)) == {NUMBERS[clients]}
    assert re.findall(r"(\w+) behaviours each", text) == [NUMBERS[behaviours]]


def test_the_readme_says_how_many_tests_of_the_suite_are_run() -> None:
    suite = (ROOT / "docs" / "compliance.md").read_text()
    assert f"has {(tests := len(re.findall(r'^[|] `', suite, re.MULTILINE)))} tests" in suite
    assert f"All {tests} tests of the [Open Responses suite]" in (ROOT / "README.md").read_text()


def test_every_stream_of_the_last_run_with_faults_is_accounted_for_as_the_readme_says() -> None:
    assert "every stream is accounted for" in (ROOT / "README.md").read_text()
    assert (
        "**Every stream is accounted for, and no resources are left over.**"
        in (ROOT / "docs" / "reliability.md").read_text()
    )
