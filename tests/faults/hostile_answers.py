"""What an upstream of ours may answer when it means no good, or knows no better. Chosen by the prompt's last word."""

from tests.faults.attacked_server import UPSTREAMS_KEY
from tests.wire.script import says, stops
from tests.wire.servers import Ask, Cut, Reset, Status, Step

ERROR_TEXT = f"Incorrect API key provided: {UPSTREAMS_KEY}. Sent 'Authorization: Bearer {UPSTREAMS_KEY}'"
TRACE = f'Traceback (most recent call last):\n  File "/srv/model.py", line 1, in <module>\nKeyError: {UPSTREAMS_KEY}'

ANSWERS: dict[str, list[Step]] = {
    "a-401-with-the-key": [Status(401, {"error": {"message": ERROR_TEXT, "code": "invalid_api_key"}})],
    "a-403-with-the-key": [Status(403, {"error": {"message": ERROR_TEXT}})],
    "a-400-with-the-key": [Status(400, {"error": {"message": ERROR_TEXT.replace("Incorrect API key", "Odd key")}})],
    "a-400-with-headers": [Status(400, {"error": {"message": f"bad header x-api-key: {UPSTREAMS_KEY}"}})],
    "a-400-of-html": [Status(400, f"<html><pre>{TRACE}</pre></html>".encode(), {"content-type": "text/html"})],
    "a-402": [Status(402, {"error": {"message": ERROR_TEXT}})],
    "a-404-with-an-address": [Status(404, {"error": {"message": f"no http://user:{UPSTREAMS_KEY}@10.0.0.1/v1"}})],
    "a-418": [Status(418, TRACE.encode())],
    "a-429": [Status(429, {"error": {"message": ERROR_TEXT}})],
    "a-429-for-ever": [Status(429, {"error": {"message": "later"}}, {"retry-after": "nonsense"})],
    "a-500-with-a-trace": [Status(500, TRACE.encode(), {"content-type": "text/plain"})],
    "a-500-of-nothing": [Status(500, b"")],
    "a-503-of-nonsense": [Status(503, b"\xff\xfe\x00" * 1000)],
    "a-500-without-end": [Status(500, b"x" * 10_000_000)],
    "a-500-of-brackets": [Status(500, b"[" * 100_000)],
    "a-200-of-html": [Status(200, b"<html>Welcome</html>", {"content-type": "text/html"})],
    "a-200-of-nothing": [Status(200, b"", {"content-type": "text/event-stream"})],
    "a-200-with-an-error": [{"error": {"message": ERROR_TEXT, "code": 401}}],
    "a-stream-of-nonsense": [b"\x00\xff\xfe not a stream \r\n\r\n"],
    "a-stream-of-numbers": [b"data: 1\n\ndata: 2\n\n"],
    "a-reset": [Reset()],
    "a-cut": [Cut()],
    "an-error-in-the-middle": [says("Hi"), {"error": {"message": ERROR_TEXT}}],
    "a-cut-in-the-middle": [says("Hi"), Cut()],
}


def hostile_answer(ask: Ask) -> list[Step]:
    """The answer that this prompt asks for, else a friendly one."""
    text = ask.raw.decode("utf-8", "replace")
    for name, script in ANSWERS.items():
        if f"please {name}!" in text:
            return list(script)
    if "please a-redirect!" in text:
        target = text.partition("please a-redirect! to ")[2].partition(" ")[0]
        return [Status(307, {}, {"location": f"{target}/chat/completions"})]
    return [says("Hi"), stops("stop")]
