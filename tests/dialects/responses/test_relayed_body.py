"""What a server that speaks Responses itself is asked: the client's own body, but for the model's name."""

from typing import Any, Final

import pytest

from app.compaction.remaining_history import Window, sealed_window
from app.options import ServerOptions
from app.prompt.item_reader import UNREADABLE
from app.protocol.problems import ProblemError
from tests.support.emitters import ReadableSealer
from tests.support.relay_turns import HELLO, Json, client_events, new_turn
from tests.support.warning_sentences import sentences
from tests.wire.servers.responses import answer, reasoning

BODY: dict[str, Any] = {
    "input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
        {"type": "reasoning", "id": "rs_AM-1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "ws_AM-2", "status": "completed", "action": {"type": "search", "id": "AM-3"}},
        {"type": "function_call", "id": "fc_AM-4", "call_id": "call_AM-5", "name": "f", "arguments": '{"a" :1}'},
        {"type": "function_call_output", "call_id": "call_AM-5", "output": "AM-6"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_AM-7", "approve": True},
        {"type": "of_tomorrow", "id": "of_AM-8", "what": None},
    ],
    "tools": [{"type": "web_search", "filters": {"allowed_domains": ["x.test"]}}, {"type": "mcp", "server_label": "s"}],
    "tool_choice": {"type": "web_search"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "store": False,
    "temperature": None,
    "prompt_cache_retention": "24h",
    "of_tomorrow": {"a": [1, 2.5, None]},
}
THEIRS = ["rs_1", "ws_2", "fc_4", "of_8"]


def test_the_body_is_passed_on_as_received_with_the_originals_of_our_ids() -> None:
    """What nobody here knows, too; it is for the upstream to judge. Call ids and contents are the client's."""
    turn = new_turn(body=BODY)
    items = [dict(item) for item in BODY["input"]]
    for index, theirs in zip((1, 2, 3, 6), THEIRS, strict=True):
        items[index]["id"] = theirs
    items[5]["approval_request_id"] = "mcpr_7"
    assert turn.ask == {**BODY, "model": "theirs", "input": items, "stream": True}
    assert sentences(turn.warnings) == []


def test_where_ids_are_kept_they_come_back_as_they_went() -> None:
    assert new_turn(body=BODY, ids="keep").ask == {**BODY, "model": "theirs", "stream": True}


def test_what_this_server_sealed_for_another_model_is_left_out_and_what_others_sealed_is_not() -> None:
    """The upstream would refuse what it cannot read. Of a thought its summary stays, without the id that we made."""
    ours = ReadableSealer().seal("reasoning", {"text": "hm"})
    readable = {"type": "reasoning", "id": "rs_AM-1", "summary": [{"type": "summary_text", "text": "hm"}]}
    theirs = {"type": "reasoning", "id": "rs_AM-2", "summary": [], "encrypted_content": "gAAA"}
    items = [
        {**readable, "encrypted_content": ours},
        {"type": "reasoning", "id": "rs_AM-3", "summary": [], "encrypted_content": ours},
        theirs,
        {**readable, "encrypted_content": None},
        {"type": "of_tomorrow", "encrypted_content": ours},
    ]
    chat_turn = new_turn(body={"input": items}, sealer=ReadableSealer()).ask["input"]
    assert chat_turn == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {**theirs, "id": "rs_2"},
        {**readable, "id": "rs_1", "encrypted_content": None},
        {"type": "of_tomorrow", "encrypted_content": ours},
    ]
    kept = new_turn(body={"input": items}, sealer=ReadableSealer(), ids="keep").ask["input"]
    assert kept == [chat_turn[0], theirs, items[3], items[4]]


@pytest.mark.parametrize("sealer", [None, ReadableSealer()])
def test_what_another_server_sealed_is_left_out_with_a_warning(sealer: ReadableSealer | None) -> None:
    """Another upstream of ours, an AM Proxy whose keys are not here any more, or one that does not seal any longer."""
    [sealed] = [
        event["item"]
        for event in client_events(new_turn(origin="responses https://one.test/v1"), answer(reasoning("rs_1", "hm")))
        if event["type"] == "response.output_item.done"
    ]
    ours = [{**sealed, "encrypted_content": f"{version}of-a-key-that-is-gone"} for version in ("AM1.", "AM2.")]
    unread = [sealed, {**sealed, "summary": []}, *ours]
    turn = new_turn(body={"input": unread}, origin="responses https://other.test/v1", sealer=sealer)
    left = {"type": "reasoning", "status": "completed", "summary": sealed["summary"]}
    assert turn.ask["input"] == [left, left, left]
    assert sentences(turn.warnings) == [
        f"input[0].encrypted_content was ignored: {UNREADABLE} Its text is sent instead.",
        f"input[1] was left out: {UNREADABLE}",
        f"input[2].encrypted_content was ignored: {UNREADABLE} Its text is sent instead.",
        f"input[3].encrypted_content was ignored: {UNREADABLE} Its text is sent instead.",
    ]
    theirs = {"id": "rs_0", "type": "reasoning", "action": "removed", "reason": "prefix_mismatch"}
    events = client_events(turn, answer(HELLO, input_transformations=[theirs]))
    ours_removed = {"id": sealed["id"], "type": "reasoning", "action": "removed", "reason": "model_mismatch"}
    named = {**theirs, "id": "rs_AM-0"}  # as the client has it
    assert events[-1]["response"]["input_transformations"] == [ours_removed, named]
    back = new_turn(body={"input": [sealed]}, origin="responses https://one.test/v1", sealer=sealer)
    assert back.ask["input"] == [reasoning("rs_1", "hm").done]
    assert sentences(back.warnings) == []


@pytest.mark.parametrize(("ids", "item_id"), [("am", "rs_AM-0"), ("keep", "rs_0")])
def test_what_the_server_itself_left_out_is_named_by_the_ids_of_the_client(ids: str, item_id: str) -> None:
    theirs = {"id": "rs_0", "type": "reasoning", "action": "removed", "reason": "prefix_mismatch"}
    odd: list[Any] = [{**theirs, "id": "input[1]"}, {"id": None}, "x"]
    for said in ([theirs, *odd], None, "x"):
        (*_, last) = client_events(new_turn(ids=ids), answer(HELLO, input_transformations=said))
        expected = [{**theirs, "id": item_id}, *odd] if isinstance(said, list) else said
        assert last["response"]["input_transformations"] == expected


AGENT: Final = {"type": "agent_message", "author": "/root", "content": "Go on."}


@pytest.mark.parametrize("begins", [{"role": "user", "content": "And?"}, AGENT], ids=["user", "agent"])
def test_a_server_of_functions_gets_the_reasoning_of_the_turns_that_the_client_wants(begins: Json) -> None:
    """It ignores the setting: the reasoning of earlier turns is left out for it."""
    old, new = ({"type": "reasoning", "id": f"rs_{name}", "summary": []} for name in ("old", "new"))
    said = {"role": "assistant", "content": "Hello."}
    items = [{"role": "user", "content": "Hi"}, old, said, begins, new, said]
    for context, left in (("current_turn", ["rs_new"]), ("all_turns", ["rs_old", "rs_new"])):
        body = {"input": items, "reasoning": {"context": context, "effort": "low"}}
        turn = new_turn(body=body, functions_only=True)
        assert [item["id"] for item in turn.ask["input"] if item.get("type") == "reasoning"] == left
        assert ("context" in turn.ask["reasoning"], turn.ask["reasoning"]["effort"]) == (context == "all_turns", "low")
        (*_, last) = client_events(turn, answer(HELLO))
        gone = [(each["id"], each["reason"]) for each in last["response"].get("input_transformations", [])]
        assert gone == ([("rs_old", "turn_boundary")] if len(left) == 1 else [])
        assert sentences(turn.warnings) == []
        assert new_turn(body=body).ask["reasoning"]["context"] == context


def test_reasoning_without_an_id_is_named_by_its_place() -> None:
    gone = {"type": "reasoning", "summary": [], "encrypted_content": "AM2.of-a-key-that-is-gone"}
    turn = new_turn(body={"input": [{"role": "user", "content": "Hi"}, gone]})
    (*_, last) = client_events(turn, answer(HELLO))
    assert [each["id"] for each in last["response"]["input_transformations"]] == ["input[1]"]


def test_a_plain_string_stays_one() -> None:
    assert new_turn().ask == {"model": "theirs", "input": "Hi", "stream": True}


TEXT = {"type": "input_text", "text": "x"}
PRIVATE = "http://169.254.169.254/meta"


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"role": "user", "content": [{"type": "input_image", "image_url": PRIVATE}]}, "content[0].image_url"),
        (
            {"role": "user", "content": [TEXT, {"type": "input_file", "file_url": PRIVATE}]},
            "content[1].file_url",
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": PRIVATE}]},
            "output[0].image_url",
        ),
        (
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "x", "image_url": PRIVATE}},
            "output.image_url",
        ),
    ],
)  # fmt: skip
def test_no_upstream_is_made_to_fetch_a_private_address(item: dict[str, Any], path: str) -> None:
    body = {"input": [{"role": "user", "content": "x"}, item]}
    with pytest.raises(ProblemError) as caught:
        new_turn(body=body)
    assert (caught.value.problem.code, caught.value.problem.param) == ("invalid_value", f"input[1].{path}")
    assert new_turn(body=body, server=ServerOptions(allow_private_urls=True)).ask["input"] == body["input"]


def test_what_a_compaction_item_holds_is_checked_by_the_same_rule() -> None:
    """It was sealed where private addresses were allowed."""
    picture = {"role": "user", "content": [TEXT, {"type": "input_image", "image_url": PRIVATE}]}
    window = sealed_window(Window(summary="So.", whole=True, after=[picture]), ReadableSealer())
    body = {"input": [{"role": "user", "content": "x"}, {"type": "compaction", "encrypted_content": window}]}
    with pytest.raises(ProblemError) as caught:
        new_turn(body=body, sealer=ReadableSealer())
    problem = caught.value.problem
    assert (problem.code, problem.param) == ("invalid_value", "input[1].content[1].image_url")
    assert (
        new_turn(body=body, sealer=ReadableSealer(), server=ServerOptions(allow_private_urls=True)).ask["input"][-1]
        == picture
    )
