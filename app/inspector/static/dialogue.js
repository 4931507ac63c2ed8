// Items as a conversation that can be read: every call with its output beside it.

import { block, isCall, isOutput } from "./blocks.js";
import { fold } from "./folded.js";

const AT_ONCE = 60; // items; those before them are folded

/** What a client sent as items. A request that is not kept has none. */
export function itemsOf(request) {
  const { input } = request ?? {};
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return objectsOf(input);
}

/** Of a list that may hold anything, what can be an item. */
export function objectsOf(list) {
  return Array.isArray(list) ? list.filter((item) => item && typeof item === "object") : [];
}

/** Calls or outputs by the id that connects them. */
export function byCall(items, isOne) {
  return new Map(items.filter((item) => isOne(item) && item.call_id).map((item) => [item.call_id, item]));
}

/** Elements for these items. `outputs` and `calls` may come from other turns. */
export function dialogue(items, { outputs = byCall(items, isOutput), calls = byCall(items, isCall), note = () => "" } = {}) {
  const here = byCall(items, isCall);
  const elements = items
    .filter((item) => !(isOutput(item) && here.has(item.call_id))) // it is beside its call
    .map((item) => {
      if (isCall(item) && outputs.has(item.call_id)) return pair(item, outputs.get(item.call_id), note(item));
      if (isOutput(item) && calls.has(item.call_id)) return pair(calls.get(item.call_id), item);
      return block(item);
    });
  if (elements.length <= AT_ONCE) return elements;
  const earlier = elements.slice(0, -AT_ONCE);
  return [fold([`${earlier.length} items before`], () => earlier), ...elements.slice(-AT_ONCE)];
}

function pair(call, output, note = "") {
  const element = document.createElement("div");
  element.className = "pair";
  const right = block(output);
  if (note) right.querySelector("h3")?.append(` · ${note}`);
  element.append(block(call), right);
  return element;
}
