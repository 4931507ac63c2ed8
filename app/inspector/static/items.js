// Items as a conversation that can be read: every call beside its output, thoughts folded.

import { fold, h, json, note, text } from "./dom.js";

const AT_ONCE = 60; // items; those before them are folded
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/; // nothing is fetched or run for it
const MADE = /^(?:iVBORw0KGgo|\/9j\/|UklGR)[A-Za-z0-9+/]+=*$/; // the data of a PNG, JPEG or WebP
const RULES = 400; // characters of rules that are not folded

export const isCall = (item) => /_call$/.test(item?.type) && !/^(image_generation|web_search)/.test(item.type);
export const isOutput = (item) => /_output$/.test(item?.type);

/** What a client sent as items. */
export function itemsOf(input) {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input.filter((item) => item && typeof item === "object") : [];
}

/** The items of an answer: those of the response, or as far as the events have told. */
export function outputOf({ events, response }) {
  const items = [];
  for (const { event } of events) {
    const seat = event.output_index;
    if (event.item) items[seat] = { ...event.item };
    else if (items[seat] && typeof event.delta === "string") grow(items[seat], event);
  }
  return items.length ? items.filter(Boolean) : itemsOf(response?.output);
}

function grow(item, { type, delta, content_index: part = 0, summary_index: summary }) {
  const into = (list, index, made) => {
    item[list] = [...(item[list] ?? [])];
    item[list][index] = { ...made, ...item[list][index], text: (item[list][index]?.text ?? "") + delta };
  };
  if (/reasoning_summary/.test(type)) into("summary", summary ?? 0, {});
  else if (/output_text|refusal|reasoning_text/.test(type)) into("content", part, { type: "output_text" });
  else if (/arguments/.test(type)) item.arguments = (item.arguments ?? "") + delta;
  else if (/input|code/.test(type)) item.input = (item.input ?? "") + delta;
}

/** Calls or outputs by the id that connects them. */
export const byCall = (items, isOne) =>
  new Map(items.filter((item) => isOne(item) && item.call_id).map((item) => [item.call_id, item]));

/** Elements for these items. `outputs` and `calls` may come from other turns. */
export function dialogue(items, { outputs = byCall(items, isOutput), calls = byCall(items, isCall) } = {}) {
  const here = byCall(items, isCall);
  const elements = items
    .filter((item) => !(isOutput(item) && here.has(item.call_id))) // it is beside its call
    .map((item) => {
      if (isCall(item) && outputs.has(item.call_id)) return pair(item, outputs.get(item.call_id));
      if (isOutput(item) && calls.has(item.call_id)) return pair(calls.get(item.call_id), item);
      return block(item);
    });
  const earlier = elements.slice(0, -AT_ONCE);
  const before = earlier.length ? [fold([`${earlier.length} items before`], () => earlier)] : [];
  return [...before, ...elements.slice(-AT_ONCE)];
}

const pair = (call, output) => h("div", { className: "pair" }, block(call), block(output));

function block(item) {
  const { type = "message", role, name, namespace, status } = item;
  const title = name ? `${type} · ${namespace ? `${namespace}.` : ""}${name}` : type === "message" ? role : type;
  if (type === "reasoning") return thought(item);
  const kind = type === "message" ? "message" : isOutput(item) ? "output" : "call";
  const size = JSON.stringify(item.content ?? "").length;
  if (/^(developer|system)$/.test(role) && size > RULES) {
    return fold([role, `${size} characters`], () => partsOf(item), { kind: "item message" });
  }
  const parts = partsOf(item);
  const words = status === "incomplete" || status === "failed" ? [title, status] : [title];
  const element = h("article", { className: `item ${kind}`, data: { role: role ?? "" } });
  element.append(h("h3", {}, words.map(String).join(" · ")), ...parts);
  return element;
}

function thought({ summary, content, encrypted_content: sealed }) {
  const said = [...list(summary), ...list(content)].map((part) => part?.text ?? "").join("\n\n").trim();
  if (!said) return note(sealed ? "Thought: sealed, only its model's server can read it." : "Thought: not told.");
  return fold(["Thought", `${said.length} characters`], () => text(said), { kind: "item thought" });
}

function partsOf(item) {
  const { type = "message" } = item;
  if (type === "message") return contentOf(item.content);
  if (MADE.test(item.result)) return [picture(`data:image/png;base64,${item.result}`)];
  if (isOutput(item)) return contentOf(item.output ?? item.results ?? item.tools ?? "");
  const given = item.arguments ?? item.input ?? item.action ?? item.operation ?? item.result;
  return given === undefined ? json(item) : argumentsOf(given);
}

/** Arguments of a call. A text of several lines is shown as lines, below its name. */
function argumentsOf(given) {
  let value = given;
  try {
    if (typeof given === "string") value = JSON.parse(given);
  } catch {
    return [text(given)]; // a model may write anything
  }
  if (!value || typeof value !== "object" || Array.isArray(value)) return [text(JSON.stringify(value))];
  const isLong = (entry) => typeof entry === "string" && entry.includes("\n");
  const short = Object.fromEntries(Object.entries(value).filter(([, entry]) => !isLong(entry)));
  const long = Object.entries(value).filter(([, entry]) => isLong(entry));
  return [
    ...(Object.keys(short).length || !long.length ? [text(JSON.stringify(short, null, 2))] : []),
    ...long.flatMap(([name, entry]) => [note(`${name}:`), text(entry)]),
  ];
}

function contentOf(content) {
  if (typeof content === "string") return [text(content)];
  return list(content).flatMap((part) => {
    const said = part?.text ?? part?.refusal;
    if (PICTURE.test(part?.image_url)) return [picture(part.image_url)];
    if (typeof said !== "string") return json(part);
    return [text(said), ...list(part.annotations).map(link)];
  });
}

const picture = (src) => h("img", { src, alt: "picture" });

/** A citation; a link only to where a browser can go without running anything. */
function link(annotation) {
  const { url, title } = annotation ?? {};
  if (!/^https?:\/\//.test(url ?? "")) return "";
  return h("a", { href: url, rel: "noreferrer", target: "_blank" }, String(title ?? url));
}

const list = (value) => (Array.isArray(value) ? value : []);
