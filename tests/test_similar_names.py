import time

import pytest

from app.similar_names import MOST_COMPARED, similar

FEW = ["gpt-6", "GPT-6-mini", "claude-sonnet-5", "qwen3.5:32b"]
MANY = [f"provider/model-{number:05d}-instruct" for number in range(10_000)]
LONG = [f"{'provider/model-instruct-' * 10}{number:05d}" for number in range(10_000)]


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("gtp-6", FEW, "gpt-6"),
        ("gpt-6-MINI", FEW, "GPT-6-mini"),
        ("claude-sonet-5", FEW, "claude-sonnet-5"),
        ("qwen3.5", FEW, "qwen3.5:32b"),
        ("mistral", FEW, None),
        ("", FEW, None),
        ("gpt-6", [], None),
        ("provider/model-04321-instrct", MANY, "provider/model-04321-instruct"),
        ("Provider/Model-09999", MANY, "provider/model-09999-instruct"),
        ("zzz", MANY, None),
    ],
)
def test_the_most_similar_name_is_found(name: str, known: list[str], expected: str | None) -> None:
    assert similar(name, known) == expected


@pytest.mark.parametrize("name", ["a" * 256, "provider/model-instruct-" * 10, "provider/model-x-instruct"])
@pytest.mark.parametrize("known", [MANY, LONG], ids=["many", "many long"])
def test_many_and_long_names_cost_little(name: str, known: list[str]) -> None:
    """All 10,000 comparisons would take half a second, in which no other request is served."""
    began = time.process_time()
    similar(name, known)
    assert time.process_time() - began < 0.1, f"at most {MOST_COMPARED} should be compared"
