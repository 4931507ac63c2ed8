// An item of a conversation as a block: a message, a thought, a call, the output of a tool, or anything else as JSON.

import { folded } from "./folded.js";
import { link, rendered } from "./markdown.js";

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/]+=*$/;
const KINDS = { message: "message", reasoning: "thought", image_generation_call: "image" };
const RULES = new Set(["developer", "system"]);
const WORDS = 80; // characters of a call that tell it from others
const LONG = 1200; // characters of an output that are shown before somebody asks for the rest

/** The block of this item, without what is in it: `{element, body}`. */
export function emptyBlock(item, { open = true } = {}) {
  const kind = kindOf(item);
  const isFolded = kind === "thought" || RULES.has(item.role);
  const element = made(isFolded ? "details" : "div");
  element.className = `item ${kind}`;
  if (item.role) element.dataset.role = item.role;
  element.append(made(isFolded ? "summary" : "h3", titleOf(item)));
  if (isFolded) element.open = open;
  const body = made("div");
  body.className = "body";
  element.append(body);
  return { element, body };
}

/** The block of this item. Thoughts, and rules for the model, are closed. */
export function block(item) {
  const { element, body } = emptyBlock(item, { open: false });
  fill(body, item);
  if (item.status && item.status !== "completed") element.dataset.status = item.status;
  return element;
}

/** Shows in `body` what this item says. */
export function fill(body, item) {
  let elements;
  try {
    elements = partsOf(item)?.flatMap(shown);
  } catch {
    // an upstream or a recording may have any shape
  }
  body.replaceChildren(...(elements ?? folded(item)));
}

export function isCall(item) {
  return typeof item?.type === "string" && item.type.endsWith("_call");
}

export function isOutput(item) {
  return typeof item?.type === "string" && /_output$/.test(item.type);
}

/** The beginning of the first text that a call was given. */
export function firstWords({ arguments: given, input, action }) {
  const values = [input ?? parsed(given) ?? action];
  for (let looked = 0; values.length && looked < 20; looked += 1) {
    const value = values.shift();
    if (typeof value === "string") return value.slice(0, WORDS).replace(/\s+/g, " ").trim();
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) values.push(value.join(" "));
    else if (value && typeof value === "object") values.push(...Object.values(value).slice(0, 20));
  }
  return "";
}

/** A short text, or a long one that is folded after its beginning. */
export function text(value, { most = LONG } = {}) {
  if (value.length <= most * 1.5) return [made("pre", value)];
  const [start, button] = [made("pre", `${value.slice(0, most)}…`), made("button", `Show all ${value.length.toLocaleString("en")} characters`)];
  button.type = "button";
  button.addEventListener("click", () => {
    start.textContent = value;
    start.tabIndex = -1;
    start.focus();
    button.remove();
  });
  return [start, button];
}

function kindOf(item) {
  if (KINDS[item.type ?? "message"]) return KINDS[item.type ?? "message"];
  if (isOutput(item)) return "output";
  return "call";
}

function titleOf({ type = "message", role, name, namespace }) {
  if (name) return `${type} · ${namespace ? `${namespace}.` : ""}${name}`;
  return type === "message" && role ? role : String(type);
}

/** What an item says, as `{markdown}`, `{plain}`, `{image}`, `{link}`; null for a type that is shown as JSON. */
function partsOf(item) {
  const { type = "message" } = item;
  if (type === "message") return contentOf(item.content, item.role === "assistant" || item.role === undefined);
  if (type === "reasoning") {
    const said = [...(item.summary ?? []), ...(item.content ?? [])].map((part) => part?.text ?? "").join("\n\n");
    return [said ? { markdown: said } : { plain: item.encrypted_content ? "encrypted: only the upstream can read it" : "" }];
  }
  if (type === "image_generation_call") return [imageOr(`data:image/${item.output_format ?? "png"};base64,${item.result}`, item.result ?? "")];
  if (isOutput(item)) return contentOf(item.output ?? item.results ?? item.tools ?? "", false);
  if (typeof item.arguments === "string") return argumentsOf(parsed(item.arguments));
  if (typeof item.input === "string") return [{ plain: item.input }];
  const given = item.arguments ?? item.action ?? item.operation;
  return given === undefined ? null : [{ plain: JSON.stringify(given, null, 2) }];
}

/** Arguments of a call. A text of several lines is shown as lines, below its name. */
function argumentsOf(given) {
  const entries = given && typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [];
  const isLong = ([, value]) => typeof value === "string" && value.includes("\n");
  if (!entries.some(isLong)) return [{ plain: typeof given === "string" ? given : JSON.stringify(given, null, 2) }];
  const short = Object.fromEntries(entries.filter((entry) => !isLong(entry)));
  return [
    ...(Object.keys(short).length ? [{ plain: JSON.stringify(short, null, 2) }] : []),
    ...entries.filter(isLong).flatMap(([name, value]) => [{ named: name }, { plain: value }]),
  ];
}

function contentOf(content, isModels) {
  if (typeof content === "string") return [isModels ? { markdown: content } : { plain: content }];
  if (!Array.isArray(content)) return [{ plain: JSON.stringify(content, null, 2) ?? "" }];
  return content.flatMap((part) => {
    const said = part?.text ?? part?.refusal;
    if (typeof said === "string") return [isModels ? { markdown: said } : { plain: said }, ...(part.annotations ?? []).map(({ url, title }) => ({ link: url, title }))];
    const address = typeof part?.image_url === "string" ? part.image_url : part?.image_url?.url;
    if (typeof address === "string") return [imageOr(address, address)];
    return [{ plain: JSON.stringify(part, null, 2) }];
  });
}

/** An image only if it is one that the browser needs nobody for, and that holds no scripts. */
function imageOr(address, otherwise) {
  return IMAGE.test(address) ? { image: address } : { plain: `[image: ${otherwise}]` };
}

function shown({ markdown, plain, named, image, link: address, title }) {
  if (named !== undefined) return [Object.assign(made("p", `${named}:`), { className: "name" })];
  if (markdown !== undefined) return [Object.assign(wrap(rendered(markdown)), { className: "text" })];
  if (image) {
    const element = Object.assign(made("img"), { src: image, alt: "image of this conversation" });
    element.addEventListener("error", () => element.replaceWith(made("pre", "[image: it cannot be read]")));
    return [element];
  }
  if (plain !== undefined) return text(String(plain));
  return /^https?:\/\//.test(address ?? "") ? [link(address, title)] : [];
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return json; // a model may write anything
  }
}

function wrap(elements) {
  const place = made("div");
  place.append(...elements);
  return place;
}

function made(name, content = "") {
  return Object.assign(document.createElement(name), { textContent: content });
}
