"""Keys in the words of an upstream: what looks like one is left out, and names are kept."""

import pytest

from app.upstreams.error_keys import without_keys
from app.upstreams.faults import short

NAMES = [
    "mcp__github__create_or_update_pull_request_review",
    "mcp__github__createOrUpdatePullRequestReviewComment",
    "getPersonalizedRecommendationsForCustomerAccounts",
    "skip_special_tokens",
    "pplx-70b-online",
    "keyword_arguments",
    "skeleton_builder_tool",
    "hf_transfer_download",
    "key-value-store-v2",
    "meta-llama-Llama-4-Maverick-17B-128E-Instruct-FP8",
    "claude-3-7-sonnet-20250219-thinking-preview-v2",
    "Qwen3-Coder-480B-A35B-Instruct-Turbo-AWQ-Int4-v2",
    "grok-nonexistent-model-for-identity-edge",
    "rs_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_not_taken_for_a_key(name: str) -> None:
    assert short(f"Function '{name}' is unknown, {name}.") == f"Function '{name}' is unknown, {name}."


HARMLESS = [
    "Basic authentication is required.",
    "Bearer token is missing",
    "Bearer authentication failed; basic auth works",
    "Unexpected token: x",
    "Unexpected token: } at 3",
    "Unexpected token: 'function'",
    "Unknown token: <eos>",
    "token: 5 of 7",
    "API key: not valid. Pass another.",
    "API key: invalid",
    "authorization: required",
    "The secret: missing",
]


@pytest.mark.parametrize("message", HARMLESS)
def test_words_behind_the_name_of_a_key_are_no_key(message: str) -> None:
    assert without_keys(message) == message


LETTERS = "Ab3dEf9hIjKlMn0pQrStUvWxYz12"


KEYS = [
    f"sk-{LETTERS}",
    f"sk-proj-{LETTERS}_-{LETTERS}",
    f"sk-ant-api03-{LETTERS}-{LETTERS}AA",
    "sk-or-v1-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071",
    f"sk_live_{LETTERS}",
    f"pk_test_{LETTERS}",
    "sk-ab**********wxyz",
    "sk-1234567890",
    f"gsk_{LETTERS}",
    f"xai-{LETTERS}{LETTERS}",
    f"hf_{LETTERS}",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    f"nvapi-{LETTERS}",
    f"fw_{LETTERS}",
    f"pplx-{LETTERS}",
    "pplx-0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    f"csk-{LETTERS}",
    f"r8_{LETTERS}",
    f"key-{LETTERS}",
    f"ghp_{LETTERS}",
    f"github_pat_{LETTERS}",
    f"glpat-{LETTERS}",
    f"xoxb-123456789012-{LETTERS}",
    f"AIzaSy{LETTERS}",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.Ab3dEf9hIj",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
    "550e8400-e29b-41d4-a716-446655440000-e29b-41d4",
    f"{LETTERS}{LETTERS}",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("written", ["Bad key {}.", "Bad key '{}'", "({})", "x={},", "used tool-{}"])
def test_a_key_of_any_usual_shape_is_blotted_out(key: str, written: str) -> None:
    shown = short(written.format(key))
    assert key not in shown
    assert key[-8:] not in shown
    assert "…" in shown


@pytest.mark.parametrize(
    "announced",
    [
        "Bearer hunter22",
        "basic YWxpY2U6cHc=",
        "Authorization: Bearer hunter22",
        "authorization: Bearer hunter",
        "'Authorization': 'Basic hunter'",
        "token: hunter22",
        "token: Bearer hunter22",
        "token=Bearer=hunter22",
        "access_token=hunter",
        "refresh token: hunter",
        "secret: hunter",
        "client_secret='hunter'",
        "password=hunter",
        "api_key=hunter",
        "x-api-key: hunter",
        "API key: invalid-hunter22",
    ],
)
def test_an_announced_key_is_blotted_out_however_it_looks(announced: str) -> None:
    shown = without_keys(f"It said {announced}, and more.")
    assert "…" in shown
    assert not {"hunter", "YWxp"} & {piece for piece in ("hunter", "YWxp") if piece in shown}
    assert shown.endswith(" and more.")
