"""What a compaction item holds, and the words with which a model is asked for it and told of it."""

from typing import Any, Final

import msgspec

from app.protocol.request.plain_messages import user_message
from app.protocol.seals import Sealer

SUM_UP: Final = """\
This conversation is about to be replaced by a summary, because it has grown long. Write that summary now. Whoever \
goes on from here, you or another model, will have nothing else: what you leave out is lost.

Write it as notes, under these headings, and leave a heading out where there is nothing to say:

1. What the user wants: every request and wish that still holds, the newest to the letter.
2. Rules: what must or must not be done, tastes and limits the user named, approvals given or denied.
3. What was done: the steps so far and what came of each, mistakes and what they taught included.
4. Facts: names, numbers, dates, addresses, identifiers, paths of files and what each is for, commands that work, \
code and messages that will be needed again, to the letter.
5. What tools gave: results that still matter, with the source of each.
6. Decisions, and the reasons for them.
7. Where things stand: what is being worked on, what is open, the very next step.

Keep summaries of earlier parts that you find above. Add nothing that was not said or found. Use the language of the \
conversation, call no tool, answer no question, and write nothing but the summary."""

TOLD: Final = (
    "What was said and done up to here was replaced by this summary. Go on from it, and do not mention it unless asked."
)
CUT: Final = "[The summary ends here: its writer had no more room.]"


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is left of a conversation."""

    summary: str
    whole: bool = False
    """Whether it stands for all that came before it, with these items around the summary. Otherwise the client has
    kept beside it what it wants to keep."""
    before: list[dict[str, Any]] = []
    after: list[dict[str, Any]] = []

    @property
    def items(self) -> list[dict[str, Any]]:
        """All of it, as input items."""
        return [*self.before, user_message(f"{TOLD}\n\n{self.summary}"), *self.after]


def sealed_window(window: Window, sealer: Sealer) -> str:
    """The `encrypted_content` of a compaction item."""
    return sealer.seal("compaction", msgspec.to_builtins(window))


def opened_window(envelope: str, sealer: Sealer | None, path: str) -> Window | None:
    """What is in it. None if it cannot be read here. Raises `ProblemError` as `Sealer.open` does."""
    content = None if sealer is None else sealer.open("compaction", envelope, path)
    return None if content is None else msgspec.convert(content, Window)
