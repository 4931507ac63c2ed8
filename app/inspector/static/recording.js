// A recording that somebody chose: its ZIP file, or all files of its folder. Only read; what is too large is refused.

import { unzipped } from "./unzip.js";

const MOST = 64 * 1024 * 1024; // bytes of one recording
const MOST_LINES = 200_000;
const NAME = /^(?:recording\.json|request\.json|events\.jsonl|ask(?:-\d{1,3})?\.json|upstream(?:-\d{1,3})?\.jsonl)$/;

/** Whether these files may be a recording. */
export function isRecording(files) {
  return files.length > 1 || /\.zip$/i.test(files[0].name) || NAME.test(files[0].name);
}

/** The turn in them, as the server describes turns. Throws an error with a plain message if there is none. */
export async function recordedTurn(files) {
  const texts = new Map();
  const isZip = files.length === 1 && /\.zip$/i.test(files[0].name);
  const parts = isZip ? unzipped(files[0], { wanted: NAME, most: MOST }) : plain(files);
  for await (const [name, text] of parts) {
    if (texts.has(name)) throw new Error(`There is more than one ${name}: open one recording at a time.`);
    texts.set(name, text);
  }
  return turnOf(texts);
}

async function* plain(files) {
  const known = files.filter((file) => NAME.test(file.name));
  if (known.reduce((sum, file) => sum + file.size, 0) > MOST) throw new Error("The recording is larger than 64 MiB.");
  for (const file of known) yield [file.name, await file.text()];
}

function turnOf(texts) {
  if (!texts.has("recording.json")) throw new Error("There is no recording: recording.json is missing.");
  const about = json(texts, "recording.json");
  if (about?.format !== 1) throw new Error("recording.json: this page reads recordings of format 1 only.");
  if (!Array.isArray(about.upstreams) || about.upstreams.length > 200) throw new Error("recording.json: its list of upstreams is damaged.");
  const outcome = about.outcome && typeof about.outcome === "object" ? about.outcome : {};
  const lines = jsonLines(texts, "events.jsonl");
  const events = lines.filter(({ event }) => event !== undefined).map(({ at, event }) => ({ at, event }));
  if (!events.every(({ event }) => typeof event?.type === "string")) throw new Error("events.jsonl: an event has no type.");
  const number = (value) => (typeof value === "number" ? value : null);
  const words = (value) => (typeof value === "string" ? value : "");
  const row = {
    number: 0, id: words(about.request_id), began: Date.parse(about.recorded) / 1000 || 0, model: words(about.model), state: "ended",
    finish: words(outcome.finish), status: number(outcome.status), error: words(outcome.error), tokens: null, cost: null,
    first_ms: number(outcome.first_token_ms), total_ms: number(outcome.duration_ms), session: null,
  };
  const warnings = Array.isArray(about.left_out) ? about.left_out.filter((each) => typeof each === "string") : [];
  return {
    row, events, fields: outcome, timeline: [], changes: null, events_left_out: 0,
    request: texts.has("request.json") ? json(texts, "request.json") : null,
    asks: about.upstreams.map((upstream, index) => ask(texts, words(upstream), index + 1, warnings)),
    refused: lines.find(({ refused }) => refused)?.refused ?? null,
    response: events.at(-1)?.event.response ?? null,
  };
}

function ask(texts, upstream, number, warnings) {
  const end = number === 1 ? "" : `-${number}`;
  const body = json(texts, `ask${end}.json`);
  const arrivals = jsonLines(texts, `upstream${end}.jsonl`);
  const text = arrivals.map((each) => (typeof each.text === "string" ? each.text : "")).join("");
  const chunks = arrivals.map((each) => (each.chunk === undefined ? "" : `data: ${JSON.stringify(each.chunk)}\n\n`)).join("");
  const fault = arrivals.find((each) => each.problem || each.failed);
  const failed = fault?.problem ?? (fault ? { failed: fault.failed } : null);
  const status = arrivals.find((each) => typeof each.status === "number")?.status ?? 200;
  return {
    number, upstream, model: typeof body?.model === "string" ? body.model : "", body, prompt: null, warnings, goes_on: false,
    error: failed ?? (status >= 400 ? { status } : null), outcome: failed || status >= 400 ? "refused" : "answered",
    started_ms: null, first_ms: arrivals[0]?.at ?? null, ended_ms: arrivals.at(-1)?.at ?? null,
    raw: kept(text), chunks: kept(chunks),
  };
}

function kept(text) {
  return text ? { text, bytes: new Blob([text]).size, left_out: 0 } : null;
}

function json(texts, name, text = texts.get(name)) {
  if (text === undefined) throw new Error(`The recording is not whole: ${name} is missing.`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON.`);
  }
}

function jsonLines(texts, name) {
  const lines = (texts.get(name) ?? json(texts, name)).split("\n").filter(Boolean);
  if (lines.length > MOST_LINES) throw new Error(`${name} has more than ${MOST_LINES} lines.`);
  return lines.map((line, index) => {
    const value = json(texts, `${name}, line ${index + 1},`, line);
    if (typeof value?.at !== "number") throw new Error(`${name}, line ${index + 1} has no time.`);
    return value;
  });
}
