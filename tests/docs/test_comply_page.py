"""The table of rules in docs/comply.md is made from the rules."""

import re

import pytest

from app.judges import Rule, client_rules
from tests.support.running import ROOT

PAGE = ROOT / "docs" / "comply.md"
RULES = [rule for rule in vars(client_rules).values() if isinstance(rule, Rule)]


def test_the_page_lists_every_rule(pytestconfig: pytest.Config) -> None:
    rows = [f"| `{rule.name}` | {rule.says} | {rule.breaks} |" for rule in RULES]
    faults = [row for rule, row in zip(RULES, rows, strict=True) if rule.is_fault]
    notes = [row for rule, row in zip(RULES, rows, strict=True) if not rule.is_fault]
    head = "| rule | how it should be | what breaks |\n| --- | --- | --- |\n"
    tables = [head + "\n".join(each) + "\n" for each in (faults, notes)]
    page = PAGE.read_text("utf-8")
    if pytestconfig.getoption("bless"):
        made = iter(tables)
        PAGE.write_text(re.sub(r"\| rule \|.*?\n(?!\|)", lambda _: next(made), page, flags=re.DOTALL), "utf-8")
        page = PAGE.read_text("utf-8")
    assert [table in page for table in tables] == [True, True]


def test_no_two_rules_share_a_name() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) > 50
