// What changed in a turn since the one before it, in words.

import { changeIn } from "./change.js";

/** Elements that say it. `open(number)` shows a turn. */
export function changesOf(detail, before, open) {
  const { changes, request } = detail;
  const list = document.createElement("ul");
  list.className = "changes";
  for (const words of wordsOf(changes, request)) list.append(Object.assign(document.createElement("li"), { textContent: words }));
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Show the turn before" });
  button.addEventListener("click", () => open(changes.since));
  const texts = [];
  if (changes.instructions === "changed") texts.push(...difference(changeIn("instructions", before?.request, request)));
  for (const name of changes.settings ?? []) texts.push(...difference(changeIn(name, before?.request, request), name));
  return [list, ...texts, button];
}

function wordsOf({ new_items: added, is_continued: continued, tools, instructions, settings = [] }, request) {
  const [from, to] = added ?? [0, 0];
  const kinds = {};
  for (const item of Array.isArray(request?.input) ? request.input.slice(from, to) : []) {
    const kind = item?.type ?? "message";
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  const parts = Object.entries(kinds).map(([kind, many]) => `${many} ${kind}`).join(", ");
  return [
    `Items: ${to - from} new${parts ? ` (${parts})` : ""}${from ? `, after ${from} that were there before` : ""}.`,
    continued ? "It continues the turn before: all that was there is unchanged." : "What was there before has changed: it does not simply continue the turn before.",
    `Instructions: ${instructions}.`,
    `Tools: ${toolWords(tools ?? {})}.`,
    `Settings: ${settings.length ? `${settings.join(", ")} changed` : "same"}.`,
  ];
}

function toolWords({ added = [], removed = [], changed = [], is_reordered: reordered }) {
  const parts = [["added", added], ["removed", removed], ["changed", changed]].filter(([, names]) => names.length);
  const words = parts.map(([what, names]) => `${names.join(", ")} ${what}`);
  if (reordered) words.push("in another order");
  return words.join("; ") || "same";
}

/** How much of the prompt the upstream had in its cache. */
export function cacheLines(tokens) {
  const { input = 0, cached = 0 } = tokens ?? {};
  return input && cached ? [paragraph([`Cache: ${Math.floor((100 * cached) / input)} % read.`])] : [];
}

/** What a part said before, and what it says now. */
function difference(found, name = "") {
  if (!found) return [];
  return found.map(([head, changed, tail], index) => {
    const mark = Object.assign(document.createElement("mark"), { textContent: changed });
    const line = paragraph([index ? "now:    " : "before: ", name && `${name} `, head, mark, tail]);
    line.className = "excerpt";
    return line;
  });
}

function paragraph(content) {
  const element = document.createElement("p");
  element.append(...content);
  return element;
}
