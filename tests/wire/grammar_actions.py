"""The rules of items that are actions: of their commands, and of their end."""

from tests.wire.grammar_checks import broken, require
from tests.wire.grammar_open import OpenItem
from tests.wire.grammar_tables import (
    COMMAND,
    Action,
    Event,
)


def within_command(open_item: OpenItem, event: Event) -> None:
    """A command is added empty, grows, and is done before the next is added."""
    require(event["command_index"] == len(open_item.commands), "commands are numbered in order")
    if event["type"] == COMMAND["added"]:
        require(open_item.command is None, "one command is done before the next is added")
        require(event["command"] == "", "an added command is empty")
        open_item.command = ""
        return
    if open_item.command is None:
        raise broken(f"{event['type']} is about a command that is open")
    if event["type"] == COMMAND["delta"]:
        open_item.command += event["delta"]
        return
    require(event["command"] == open_item.command, "a done command equals its joined deltas")
    open_item.commands.append(event["command"])
    open_item.command = None


def action_done(open_item: OpenItem, action: Action, item: Event) -> None:
    require(item["status"] == "completed", "nobody can run half an action")
    require(open_item.command is None, "an item is done only when its commands are")
    if action.steps:
        result = item[action.field][action.steps]
        require(result == open_item.commands, "a done action holds the commands that were told")
