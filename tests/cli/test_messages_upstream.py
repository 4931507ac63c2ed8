"""`doctor` with an upstream of the Messages API."""

from pathlib import Path

import pytest

from app.cli.doctor import doctor
from app.settings import Settings, load
from tests.wire.servers import KEY, AnthropicUpstream, Calls, Says, Thinks


def settings(folder: Path, upstream: AnthropicUpstream) -> Settings:
    """A configuration with this upstream alone."""
    (folder / "config.toml").write_text(f"""
[upstreams.claude]
via = "messages"
provider = "anthropic"
base_url = "{upstream.url}"
api_key = "{KEY}"

[models.claude-sonnet-4-6]
upstream = "claude"
""")
    return load({}, {}, folder)


def test_doctor_asks_it_in_its_own_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Calls("current_time", "{}")
    with AnthropicUpstream().say([Thinks("Hm."), Says("Hello there.")], [call]) as upstream:
        upstream.may_violate = True  # it has no list of models
        assert doctor(settings(tmp_path, upstream)) == 0
    told = capsys.readouterr().out
    for line in ("claude-sonnet-4-6 by /v1/messages", "key             accepted", "streams", "calls tools"):
        assert line in told
