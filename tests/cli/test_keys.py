"""A key for a client: printed once, stored nowhere, and accepted."""

import re
from pathlib import Path

import httpx
import pytest

from app.__main__ import main
from app.settings import load
from tests.support.running import run
from tests.support.serving import serving


def test_a_new_key_comes_with_the_table_that_lets_it_in(tmp_path: Path) -> None:
    made = run("keys", "create", "--name", 'Bob "the key"', "--models", "demo", "gpt-*", folder=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    key = made.stdout.split("\n")[2]
    assert re.fullmatch(r"am-[A-Za-z0-9_-]{43}", key)
    table = made.stdout[made.stdout.index("[[keys]]") :]
    assert key not in table
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "config.toml").write_text(table)
    settings = load({}, {}, tmp_path)
    assert [(found.name, found.models) for found in settings.keys] == [('Bob "the key"', ("demo", "gpt-*"))]
    with serving(settings) as url:
        answers = [
            httpx.get(f"{url}/v1/models", headers={"authorization": f"Bearer {given}"}).status_code
            for given in (key, key[:-1], f"{key}x")
        ]
    assert answers == [200, 401, 401]


def test_no_two_keys_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    keys = set()
    for _ in range(20):
        assert main(["keys", "create"]) == 0
        keys.add(capsys.readouterr().out.split("\n")[2])
    assert len(keys) == 20


@pytest.mark.parametrize("name", ["", " bob", "b\x1bob"])
def test_a_name_with_invisible_characters_is_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["keys", "create", "--name", name]) == 2
    printed = capsys.readouterr()
    assert '" is not a name' in printed.err
    assert printed.out == ""
