"""Compaction stands in one room. Who calls it, and what the protocol says of it, are listed here."""

from tests.support.running import ROOT

OUTSIDE = {
    "app/__init__.py": "the map",
    "app/catalogue.py": "begins a turn with a summary",
    "app/dialects/responses/relayed_body.py": "expands items for a relay",
    "app/prompt/build.py": "expands items for a prompt",
    "app/protocol/request/summaries.py": "the nouns",
    "app/transports/openapi.py": "the path",
    "app/turns/service.py": "the endpoint's request and answer",
    "app/turns/summary_first.py": "the two steps",
    "app/upstreams/demo.py": "knows the words with which a summary is asked for",
}


def test_few_files_outside_its_room_mention_it() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "app").rglob("*.py")
        if "compact" in file.read_text(encoding="utf-8").lower() and file.parent.name != "compaction"
    }
    assert found == OUTSIDE.keys()
