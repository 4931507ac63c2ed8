// What an upstream said, read from its own bytes, beside what the client got: text, thoughts, arguments of calls, the end.

import { around } from "./change.js";
import { difference } from "./changes.js";
import { endings, endOf, listIn } from "./ending.js";
import { count } from "./format.js";

const KINDS = { text: "Text", thoughts: "Thoughts", calls: "Arguments of calls" };

/** Elements that compare them. */
export function comparison({ asks, events }) {
  const answered = asks.findLast((ask) => ask.chunks ?? ask.raw);
  if (!answered) return [sentence("What the upstream sent is not kept for this turn.")];
  const came = answered.chunks ?? answered.raw; // the bytes below chunks may be in a format that only their library reads
  const [frames, sent] = [framesIn(came.text), events.map(({ event }) => event)];
  const [upstream, client] = [ofFrames(frames), ofEvents(sent)];
  const elements = [sentence(`What ${answered.upstream} said (${count(came.bytes)} bytes), and what the client got.`)];
  if (came.left_out) elements.push(sentence(`${count(came.left_out)} bytes of the upstream are not kept: the texts may differ for this reason.`));
  for (const [kind, title] of Object.entries(KINDS)) {
    const [one, other] = [upstream[kind], client[kind]];
    if (!one && !other) continue;
    const isSame = one === other;
    const part = document.createElement("section");
    part.className = "compared";
    part.dataset.same = String(isSame);
    const words = isSame ? `the same (${count(one.length)} characters)` : `upstream ${count(one.length)} characters, client ${count(other.length)}`;
    part.append(Object.assign(document.createElement("h3"), { textContent: `${title}: ${words}` }));
    if (!isSame) part.append(...difference(around(one, other)).map(named), columns(one, other));
    elements.push(part);
  }
  const answers = asks.filter((ask) => ask.outcome === "answered" || ask.outcome === "again").length;
  return [...elements, ...endings(endOf(frames), endOf(sent), { asks: answers })];
}

/** The values of server-sent events, or of one JSON document. */
function framesIn(bytes) {
  const frames = bytes.trimStart().startsWith("{") ? [bytes] : bytes.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  return frames.map(parsed);
}

/** The texts in such values, in any of the dialects. */
function ofFrames(frames) {
  const said = { text: "", thoughts: "", calls: "" };
  for (const value of frames) {
    if (typeof value?.type === "string") ofEvent(value, said);
    for (const item of listIn(value?.output)) ofItem(item ?? {}, said); // a Responses answer that was not streamed
    for (const { delta, message } of listIn(value?.choices).filter(Boolean)) {
      const part = delta ?? message ?? {};
      if (typeof part.content === "string") said.text += part.content;
      const thought = part.reasoning_content ?? part.reasoning;
      if (typeof thought === "string") said.thoughts += thought;
      for (const call of listIn(part.tool_calls)) said.calls += call?.function?.arguments ?? "";
    }
  }
  return said;
}

function ofEvents(events) {
  const said = { text: "", thoughts: "", calls: "" };
  const grown = new Set(); // items that came in deltas
  for (const event of events) {
    ofEvent(event, said);
    if (typeof event.delta === "string") grown.add(event.output_index);
    if (event.type === "response.output_item.done" && !grown.has(event.output_index)) ofItem(event.item ?? {}, said);
  }
  return said;
}

/** An item that came in one piece. */
function ofItem({ type, content, summary, arguments: given, input }, said) {
  const texts = (parts) => (Array.isArray(parts) ? parts.map((part) => part?.text ?? part?.refusal ?? "").join("") : "");
  if (type === "message") said.text += texts(content);
  else if (type === "reasoning") said.thoughts += texts(summary) + texts(content);
  else said.calls += given ?? input ?? "";
}

/** An event of the Responses API or of the Messages API. */
function ofEvent({ type, delta }, said) {
  if (typeof delta === "string") {
    if (/output_text|refusal/.test(type)) said.text += delta;
    else if (/reasoning/.test(type)) said.thoughts += delta;
    else if (/arguments|input/.test(type)) said.calls += delta;
  } else if (delta) {
    said.text += delta.text ?? "";
    said.thoughts += delta.thinking ?? "";
    said.calls += delta.partial_json ?? "";
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // such as [DONE]
  }
}

function named(line, index) {
  line.firstChild.textContent = index ? "client:   " : "upstream: ";
  return line;
}

function columns(...texts) {
  const place = document.createElement("div");
  place.className = "pair";
  for (const [index, text] of texts.entries()) {
    const block = Object.assign(document.createElement("pre"), { className: "json", textContent: text, tabIndex: 0 });
    block.setAttribute("role", "region");
    block.setAttribute("aria-label", index ? "The client got" : "The upstream said");
    place.append(block);
  }
  return place;
}

function sentence(text) {
  return Object.assign(document.createElement("p"), { textContent: text });
}
