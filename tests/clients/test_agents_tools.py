"""The Agents SDK with every tool it can run itself: called by a chat model, run by the SDK, its output told."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest
from openai import AsyncOpenAI

from tests.support.agents_sdk import agents_sdk
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream

PATCH: Final = '{"type":"create_file","path":"a.py","diff":"+print(1)\\n"}'


class Ran:
    """What the SDK ran, in its own words."""

    def __init__(self) -> None:
        self.actions: list[Any] = []

    def shell(self, request: Any) -> Any:
        action = request.data.action
        self.actions.append((action.commands, action.timeout_ms))
        sdk = agents_sdk()
        outcome = sdk.ShellCallOutcome(type="exit", exit_code=0)
        return sdk.ShellResult(
            [sdk.ShellCommandOutput(stdout=f"<{command}>\n", outcome=outcome) for command in action.commands]
        )

    async def custom(self, _: Any, text: str) -> str:
        self.actions.append(text)
        return "one row"

    def create_file(self, operation: Any) -> Any:
        self.actions.append((operation.type, operation.path, operation.diff))
        return agents_sdk().ApplyPatchResult(status="completed", output="Created.")

    update_file = delete_file = create_file

    def tools(self) -> list[Any]:
        def look_up(day: str) -> str:
            """What is on that day."""
            self.actions.append(day)
            return "nothing"

        sdk = agents_sdk()
        looks_up = sdk.function_tool(look_up, defer_loading=True)
        return [
            sdk.ShellTool(executor=self.shell),
            sdk.ApplyPatchTool(editor=self),
            sdk.tool.CustomTool(name="run_sql", description="Runs SQL.", on_invoke_tool=self.custom),
            *sdk.tool_namespace(name="calendar", description="Your calendar.", tools=[looks_up]),
        ]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ChatUpstream]:
    with ChatUpstream() as upstream:
        yield upstream


@pytest.fixture
async def client(upstream: ChatUpstream) -> AsyncIterator[AsyncOpenAI]:
    there = Upstream(via="chat", base_url=upstream.url)
    with serving(Settings(upstreams={"u": there}, models={"m": Model(upstream="u")})) as url:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
            yield client


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("index", "function", "arguments", "ran", "expected"),
    [
        (0, "shell", '{"commands":["ls","pwd"],"timeout_ms":500}', (["ls", "pwd"], 500), "<ls>\n[exit code 0]"),
        (1, "apply_patch", PATCH, ("create_file", "a.py", "+print(1)\n"), "Created."),
        (2, "run_sql", '{"input":"SELECT \\"a\\""}', 'SELECT "a"', "one row"),
        (3, "calendar__look_up", '{"day":"today"}', "today", "nothing"),
    ],
)
async def test_a_tool_is_called_run_and_its_output_told(
    *,
    upstream: ChatUpstream,
    client: AsyncOpenAI,
    index: int,
    function: str,
    arguments: str,
    ran: Any,
    expected: str,
    streamed: bool,
) -> None:
    sdk, here = agents_sdk(), Ran()
    quiet = sdk.RunConfig(tracing_disabled=True)
    upstream.scripts = (call_turn(function, *arguments), text_turn("Done."))
    upstream.asks.clear()
    tool = here.tools()[index]
    search = [sdk.ToolSearchTool()] if function.startswith("calendar") else []
    agent = sdk.Agent("worker", model=sdk.OpenAIResponsesModel("m", client), tools=[tool, *search])
    if streamed:
        result = sdk.Runner.run_streamed(agent, "Do it.", run_config=quiet)
        assert [event async for event in result.stream_events()] != []
        answer = result.final_output
    else:
        answer = (await sdk.Runner.run(agent, "Do it.", run_config=quiet)).final_output
    assert (answer, here.actions) == ("Done.", [ran])
    _, called, output = upstream.asks[-1].body["messages"]
    assert [call["function"]["name"] for call in called["tool_calls"]] == [function]
    assert expected in output["content"]
