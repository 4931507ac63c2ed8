"""Compaction is one room. The files outside it that mention it are listed here."""

from tests.support.running import ROOT

OUTSIDE = {
    "app/__init__.py": "the map",
    "app/catalogue.py": "the address of an upstream's own",
    "app/codex_catalog.py": "a key that Codex reads",
    "app/new_turns.py": "begins a turn with a summary",
    "app/observers/listed_turn.py": "the field of the log line",
    "app/observers/metrics.py": "the field of the log line",
    "app/options.py": "the setting for that key",
    "app/prompt_cache/prefix.py": "OpenAI's name of a reason",
    "app/protocol/request/summaries.py": "the nouns",
    "app/providers/xai.py": "the words of an error",
    "app/recordings/readable_seals.py": "the kind of sealed content",
    "app/transports/openapi.py": "the path",
    "app/transports/wrong_paths.py": "the path",
    "app/turns/service.py": "the endpoint's request and answer",
    "app/turns/summary_first.py": "the two steps",
}


def test_few_files_outside_its_room_mention_it() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "app").rglob("*.py")
        if "compact" in file.read_text(encoding="utf-8").lower() and file.parent.name != "compaction"
    }
    assert found == OUTSIDE.keys()
