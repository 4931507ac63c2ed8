"""What clients need of a server's answers, as named rules. Knows nothing of this server, so it can judge any.

`python -m tests.judges URL` judges a server: `questions` says what it is asked, and `client` asks.
`client_rules` lists the rules with the clients that break. `stream_judge` follows a stream, `response_judge` looks at
whole responses and errors, `sse_frames` at the bytes of a stream, `silence` at the time between them, and `types_judge`
asks the `openai` package.
"""

from .findings import Finding, Rule
from .response_judge import judge_answered_error, judge_answered_response, judge_cut_answers
from .silence import Silence
from .sse_frames import Frames
from .stream_judge import StreamJudge, judge_stream
from .types_judge import TypesJudge

__all__ = [
    "Finding",
    "Frames",
    "Rule",
    "Silence",
    "StreamJudge",
    "TypesJudge",
    "judge_answered_error",
    "judge_answered_response",
    "judge_cut_answers",
    "judge_stream",
]
