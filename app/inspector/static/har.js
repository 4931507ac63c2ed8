// A turn as an HTTP archive (HAR 1.2): what the client sent and got, and each request to an upstream. And back.

const OWN = "_amProxyTurn"; // the member with all that the inspector knows of the turn

const MOST = 64 * 1024 * 1024; // bytes of a file that is opened

export function harOf(detail) {
  const began = detail.row.began * 1000;
  const events = detail.events.map(({ event }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const refused = detail.refused;
  const client = entry({
    began, url: `${location.origin}/v1/responses`, sent: detail.request, took: detail.row.total_ms ?? 0, first: detail.row.first_ms,
    status: detail.row.status ?? 200, text: refused ? JSON.stringify({ error: refused.error }) : events,
    type: refused ? "application/json" : "text/event-stream",
  });
  const asks = detail.asks.map((ask) => entry({
    began: began + (ask.started_ms ?? 0), url: `https://${encodeURIComponent(ask.upstream)}.invalid/`, sent: ask.body,
    took: (ask.ended_ms ?? 0) - (ask.started_ms ?? 0), first: ask.first_ms === null ? null : ask.first_ms - ask.started_ms,
    status: ask.error ? 502 : 200, text: (ask.raw ?? ask.chunks)?.text ?? JSON.stringify(ask.error ?? {}), type: ask.raw ?? ask.chunks ? "text/event-stream" : "application/json",
    comment: `Request to the upstream ${ask.upstream}; its address and its headers are left out.`,
  }));
  return { log: { version: "1.2", creator: { name: "AM Proxy inspector", version: document.getElementById("version").textContent }, entries: [{ ...client, [OWN]: detail }, ...asks] } };
}

/** The turn in such a file. Throws an error with a plain message if there is none. */
export async function savedTurn(file) {
  if (file.size > MOST) throw new Error("The file is larger than 64 MiB.");
  return turnIn(await file.text());
}

function turnIn(text) {
  let entries;
  try {
    entries = JSON.parse(text)?.log?.entries;
  } catch {
    throw new Error("This file is no HAR: it is not JSON.");
  }
  if (!Array.isArray(entries)) throw new Error("This file is no HAR: it has no entries.");
  const detail = entries.map((each) => each?.[OWN]).find(Boolean);
  if (!detail) throw new Error("This HAR was not saved by the inspector: it has no turn.");
  const isWhole = detail.row && typeof detail.row.number === "number" && Array.isArray(detail.asks) && Array.isArray(detail.events);
  if (!isWhole || !detail.events.every((one) => typeof one?.event?.type === "string" && typeof one.at === "number")) {
    throw new Error("The turn in this HAR is damaged.");
  }
  return { ...detail, fields: detail.fields ?? {}, timeline: detail.timeline ?? [] };
}

export function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function entry({ began, url, sent, took, first, status, text, type, comment = "" }) {
  const body = JSON.stringify(sent ?? null);
  const shared = { httpVersion: "HTTP/1.1", cookies: [], headersSize: -1 };
  const wait = Math.max(first ?? took, 0);
  return {
    startedDateTime: new Date(began).toISOString(),
    time: Math.max(took, wait),
    request: {
      ...shared, method: "POST", url, queryString: [], headers: [{ name: "content-type", value: "application/json" }],
      bodySize: body.length, postData: { mimeType: "application/json", text: body },
    },
    response: {
      ...shared, status, statusText: "", redirectURL: "", headers: [{ name: "content-type", value: type }],
      bodySize: text.length, content: { size: text.length, mimeType: type, text },
    },
    cache: {},
    timings: { send: 0, wait, receive: Math.max(took - wait, 0) },
    comment,
  };
}
