"""Every rule, with the client that breaks if it is broken, as seen with real clients or in their code."""

from typing import Final

from .findings import Rule

_NODE: Final = "openai-node: .stream() throws"
_PYTHON: Final = "openai-python: responses.stream() raises"
_AI_SDK: Final = "AI SDK: the event does not fit its schema; it reports an error and loses the event"
_TEXT: Final = "clients that show the deltas and clients that read the result show different texts"

# the bytes of a stream
CONTENT_TYPE: Final = Rule(
    "content-type", "a stream has the content type text/event-stream", "httpx-sse and browsers refuse to read it"
)
EVENT_JSON: Final = Rule(
    "event-json", "the data of an event is a JSON object with a type", "openai-python and openai-node raise"
)
EVENT_NAME: Final = Rule(
    "event-name",
    "the event line, if there is one, repeats the type of the event",
    "clients that choose by the event line take it for another event",
    is_fault=False,
)
FRAME_END: Final = Rule(
    "frame-end",
    "an empty line ends each event, also the last one",
    "readers that follow the standard drop the last event",
)

SILENCE: Final = Rule(
    "silence",
    "a stream is never silent for 30 seconds: a comment is enough",
    "proxies such as nginx end a connection on which nothing comes for 60 seconds",
    is_fault=False,
)
EVENT_SILENCE: Final = Rule(
    "event-silence",
    "an event comes every 300 seconds at least: a comment is not enough",
    "Codex: idle timeout waiting for SSE, and up to five retries",
)

# the order of events
CREATED_FIRST: Final = Rule("created-first", "the first event is response.created", f"{_PYTHON} a RuntimeError")
CREATED_ONCE: Final = Rule(
    "created-once", "response.created is sent once", "clients that begin a message with it begin two", is_fault=False
)
LAST_EVENT: Final = Rule(
    "last-event",
    "a stream ends with response.completed, response.incomplete, response.failed or an error",
    "Codex: stream disconnected before completion, and up to five retries",
)
AFTER_LAST: Final = Rule(
    "after-last", "nothing follows the last event", "clients that stop reading there never see it", is_fault=False
)
KNOWN_EVENT: Final = Rule(
    "known-event", "the type of an event is one of the Responses API", f"{_NODE} on a type that it does not know"
)
SEQUENCE: Final = Rule(
    "sequence-number",
    "every event has a sequence_number, a whole number",
    "the types of openai-python and openai-node promise it",
    is_fault=False,
)
SEQUENCE_FAILED: Final = Rule("failed-sequence", "response.failed has a sequence_number, a number", _AI_SDK)
SEQUENCE_ORDER: Final = Rule(
    "sequence-order",
    "each sequence_number is greater than the one before",
    "clients that continue a stream after a number lose or repeat events",
    is_fault=False,
)
EVENT_FIELDS: Final = Rule("event-fields", "an event has the fields of its type", _AI_SDK)

# the response
RESPONSE_OBJECT: Final = Rule("response-object", "the event carries the response, an object", f"{_NODE} an OpenAIError")
WHOLE_RESPONSE: Final = Rule(
    "whole-response",
    "a request without stream gets one response, a JSON object",
    "openai-python: responses.create() returns text in place of a response; openai-node throws a TypeError",
)
RESPONSE_ID: Final = Rule("response-id", "the id of the response never changes", f"{_NODE}: identity changed")
RESPONSE_ID_REUSED: Final = Rule(
    "response-id-reused",
    "no two responses have the same id",
    "clients that continue a response continue another one, and the published suite of Open Responses fails",
)
RESPONSE_FIELDS: Final = Rule(
    "response-fields",
    "a response has an id, a created_at and a model",
    "AI SDK reports an error; without an id, Codex cannot read response.completed",
)
RESPONSE_OUTPUT: Final = Rule("response-output", "output is a list", f"{_PYTHON} an AttributeError")
LAST_STATUS: Final = Rule(
    "last-status",
    "response.status agrees with the last event",
    "clients that go by the event, as Codex does, and those that go by the status decide otherwise",
)
USAGE: Final = Rule(
    "usage",
    "usage is null, or has whole numbers for input_tokens, output_tokens and total_tokens, also in its details",
    "Codex cannot read response.completed, and asks again up to five times",
)
USAGE_MISSING: Final = Rule(
    "usage-missing",
    "a completed or cut response tells its usage",
    "clients that count tokens count none",
    is_fault=False,
)
FINAL_OUTPUT: Final = Rule(
    "final-output",
    "the output of the last response is made of the done items, in their order",
    "openai-python: get_final_response() returns another answer than was streamed",
)
FAILED_ERROR: Final = Rule(
    "failed-error", "a failed response has an error with code and message", "Codex cannot tell its user why"
)
INCOMPLETE_REASON: Final = Rule(
    "incomplete-reason",
    "an incomplete response has incomplete_details.reason",
    "code that asks why the answer was cut finds nothing",
)
RESPONSE_KIND: Final = Rule(
    "response-kind", 'object is "response"', "clients that tell answers apart by object", is_fault=False
)
STATUS: Final = Rule(
    "status", "status is one of the Responses API", "clients that wait for the end wait for ever, or fail"
)

# items
ITEM_FIELDS: Final = Rule("item-fields", "an item has a type and an id, both text", _AI_SDK)
INDEX_REUSED: Final = Rule("index-reused", "no output_index is used for two items", f"{_NODE}: duplicate output index")
INDEX_ORDER: Final = Rule(
    "index-order",
    "items are numbered from 0, in the order in which they are added",
    f"{_PYTHON} an IndexError, or adds text to another item",
)
ITEM_ID_REUSED: Final = Rule("item-id-reused", "no two items have the same id", _NODE)
CALL_ID_REUSED: Final = Rule(
    "call-id-reused", "no two calls have the same call_id", "agents give the output of one call to the other"
)
ADDED_EMPTY: Final = Rule(
    "added-empty",
    "an added message has a list as content, and an added call has text as arguments or input",
    f"{_PYTHON} when it adds the first delta",
)
ITEM_OPEN: Final = Rule(
    "item-open", "an event is about an item that was added and is not done", f"{_NODE}: missing output at index"
)
ITEM_ID: Final = Rule(
    "item-id",
    "item_id and id are those with which the item was added",
    f"{_NODE}; AI SDK, which goes by item_id, cannot place the text",
)
ITEM_TYPE: Final = Rule("item-type", "the type of an item never changes", _NODE)
CALL_ID: Final = Rule(
    "call-id", "call_id and name of a call never change", "clients that run a call early run another one"
)
EVENT_FITS: Final = Rule("event-fits", "an event fits the type of its item", f"{_PYTHON} an AssertionError")
CALL_STATUS: Final = Rule("call-status", "a done call has a status: completed, incomplete or in_progress", _AI_SDK)
ITEM_NOT_DONE: Final = Rule(
    "item-not-done",
    "every item is done before the response is completed",
    "Codex reads items from response.output_item.done alone, so it loses this one",
)

# parts and texts
PART_ORDER: Final = Rule("part-order", "the parts of an item are numbered from 0", f"{_PYTHON} an IndexError")
PART_OPEN: Final = Rule("part-open", "text is about a part that was added and is not done", f"{_PYTHON} an IndexError")
PART_TYPE: Final = Rule("part-type", "text fits the type of its part", f"{_PYTHON} an AssertionError")
PART_NOT_DONE: Final = Rule(
    "part-not-done",
    "every part is done before its item is",
    "AI SDK ends a reasoning summary only when its part is done",
    is_fault=False,
)
JOINED_TEXT: Final = Rule("joined-text", "a done text equals its joined deltas", _TEXT)
DONE_TEXT: Final = Rule("done-text", "a done item holds the texts that were streamed", _TEXT)
NO_DELTAS: Final = Rule(
    "no-deltas",
    "what a done item holds was streamed in events of its own before",
    "@ai-sdk/open-responses never learns of the arguments; others show nothing until the end",
)

# what clients need of a whole item
PART_FIELDS: Final = Rule(
    "part-fields",
    "the text of a message has text, and a list of annotations",
    "AI SDK: a whole response does not fit its schema, and there is an error in place of the answer",
)
CODEX_CALL_ID: Final = Rule(
    "codex-call-id", "a call has a call_id, a text that is not empty", "Codex drops the call silently"
)
CODEX_NAME: Final = Rule("codex-name", "a call has a name, a text that is not empty", "Codex drops the call silently")
CODEX_ARGUMENTS: Final = Rule(
    "codex-arguments", "arguments and input of a call are text, not objects", "Codex drops the call silently"
)
ARGUMENTS_JSON: Final = Rule(
    "arguments-json",
    "the arguments of a completed function call are a JSON object",
    "agents cannot read them, and tell the model so",
    is_fault=False,
)
CODEX_PHASE: Final = Rule(
    "codex-phase",
    "phase of a message is absent, null, commentary or final_answer",
    "Codex drops the message silently, and AI SDK ends with an error",
)
CODEX_MESSAGE: Final = Rule(
    "codex-message",
    "a message has the role assistant, and a list as content",
    "Codex drops the message silently, and AI SDK ends with an error",
)
CODEX_REASONING: Final = Rule(
    "codex-summary",
    "a reasoning item has a list as summary",
    "Codex drops the reasoning silently, and AI SDK cannot read a whole response",
)

# errors
ERROR_STATUS: Final = Rule(
    "error-status", "an invalid request gets a status from 400 to 499", "SDKs retry a 5xx, and take a 200 for an answer"
)
ERROR_BODY: Final = Rule(
    "error-body",
    "the body of an error is JSON: error, with a message that is text",
    "AI SDK shows the words of the status in place of the reason, other SDKs the raw body",
)
ERROR_STRINGS: Final = Rule(
    "error-strings",
    "type of an error is text; code and param are text or null",
    "@ai-sdk/open-responses does not show the message",
)
ERROR_EVENT: Final = Rule(
    "error-event", "an error event has a message that is text, best inside of error", "clients cannot say what failed"
)
NO_RETRY: Final = Rule("no-retry-after", "401, 404 and 413 have no Retry-After", "Codex retries what cannot succeed")

# answers
ANSWERED: Final = Rule(
    "answered",
    "the request gets an answer",
    "clients that ask this get no answer; the published suite fails where it asks the same",
)
CUT_STATUS: Final = Rule(
    "cut-status",
    "an answer that max_output_tokens cut is incomplete, for the reason max_output_tokens",
    "agents take half an answer for a whole one; AI SDK knows no other reason",
)
CUT_ITEM: Final = Rule(
    "cut-item",
    "an item that was cut has the status incomplete",
    "clients that read items take it for a whole one",
    is_fault=False,
)
LIMIT: Final = Rule(
    "limit",
    "max_output_tokens limits the tokens of an answer",
    "clients with a budget pay more than they allow",
    is_fault=False,
)
CUSTOM_CALL: Final = Rule(
    "custom-call",
    "a call of a custom tool is a custom_tool_call",
    "Codex: tool apply_patch invoked with incompatible payload, and nothing is edited",
)
NOT_OFFERED: Final = Rule(
    "not-offered", "the server has this part of the API", "clients that need it cannot use this server", is_fault=False
)
CALLED: Final = Rule(
    "called", "tool_choice required leads to a call", "agents that demand a call wait in vain", is_fault=False
)
CONTINUED: Final = Rule(
    "continued", "previous_response_id names the response that was continued", "the published suite fails"
)
KEEP_ALIVE: Final = Rule(
    "keep-alive",
    "the connection stays open after an answer",
    "SDKs make a new connection for each request, which is slow with TLS",
    is_fault=False,
)
AFTER_LEAVING: Final = Rule(
    "after-leaving", "the server answers after a client has left in the middle of an answer", "all other clients wait"
)
TYPES: Final = Rule(
    "openai-types", "the types of the openai package fit", "code that believes the types finds no value", is_fault=False
)
