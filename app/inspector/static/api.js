// What the page asks of the server: models, turns, the feed of the list; and what it sends.

const AGAIN = 2000; // milliseconds until a lost connection is tried anew
const key = () => document.getElementById("key").value;

/** The headers of every request of the page. */
export function headers() {
  const given = { "Content-Type": "application/json" };
  if (key()) given.Authorization = `Bearer ${key()}`;
  return given;
}

export const hasKey = () => Boolean(key());

/** The JSON at this path. Throws what the server says is wrong. */
export async function get(path, signal) {
  const answer = await fetch(path, { headers: headers(), signal });
  const body = await answer.json();
  if (answer.ok) return body;
  throw Object.assign(new Error(body.error?.message ?? `HTTP ${answer.status}`), { status: answer.status });
}

/** The data of each server-sent event of an answer. */
async function* dataOf(answer) {
  const reader = answer.body.getReader(); // Safari cannot iterate over a stream
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
  }
}

/** Listens to the list until `signal`: `told({rows, kept})` at each change, `state(words)` when it is there or not. */
export async function feed(told, state, signal) {
  while (!signal.aborted) {
    try {
      const answer = await fetch("/inspector/feed", { headers: headers(), signal });
      if (!answer.ok) return state((await answer.json()).error.message, answer.status);
      state("", 200);
      for await (const data of dataOf(answer)) told(JSON.parse(data));
    } catch {
      // it is tried anew
    }
    if (signal.aborted) return;
    state("Connection lost. Reconnecting …", 0);
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}

/** Sends a request. `changed(detail)` is called as its answer grows: the same as of a kept turn, but without asks. */
export async function send(body, changed, signal) {
  const began = performance.now();
  const at = () => performance.now() - began;
  const row = { model: body.model, state: "running", finish: "" };
  const detail = { row, request: body, asks: [], events: [], response: null, problem: null, fields: {}, warnings: [] };
  changed(detail);
  try {
    const given = { method: "POST", headers: headers(), body: JSON.stringify(body), signal };
    const answer = await fetch("/v1/responses", given);
    row.request_id = answer.headers.get("x-request-id");
    row.upstream = answer.headers.get("x-am-upstream");
    row.status = answer.status;
    detail.warnings = JSON.parse(answer.headers.get("x-am-warnings") ?? "[]");
    if (!answer.ok) detail.problem = { status: answer.status, ...(await answer.json()) };
    else if (!body.stream) detail.response = await answer.json();
    else {
      for await (const data of dataOf(answer)) {
        if (data === "[DONE]") continue;
        const event = JSON.parse(data);
        detail.events.push({ at: at(), event });
        if (typeof event.delta === "string") row.first_token_ms ??= at();
        detail.response = event.response ?? detail.response;
        detail.warnings.push(...(event.x_am_warnings ?? []));
        changed(detail);
      }
    }
    row.finish = detail.problem ? "refused" : detail.response?.status ?? "cut off";
    if (row.finish === "in_progress") row.finish = "cut off";
  } catch (error) {
    row.finish = error.name === "AbortError" ? "stopped" : `failed: ${error.message}`;
  }
  Object.assign(row, { state: "ended", duration_ms: at(), error: detail.problem?.error?.code },
    tokensOf(detail.response?.usage));
  changed(detail);
  return detail;
}

function tokensOf(usage) {
  return {
    input_tokens: usage?.input_tokens,
    output_tokens: usage?.output_tokens,
    cached_tokens: usage?.input_tokens_details?.cached_tokens,
    reasoning_tokens: usage?.output_tokens_details?.reasoning_tokens,
  };
}
