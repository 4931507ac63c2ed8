"""The words with which a model is asked for a summary, and with which it is told of one."""

from typing import Final

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
