// A row of the list: what tells this turn from the others.

import { count, money, ms } from "./format.js";

export const PREPARED = "Only prepared: the client wanted no answer";

/** The element of a row. */
export function rowOf(row) {
  const element = document.createElement("li");
  element.dataset.id = row.id;
  element.dataset.number = row.number;
  element.dataset.finish = row.state === "running" ? "running" : row.finish;
  const parts = [
    ["when", row.when],
    ["model", row.model],
    ["finish", outcomeOf(row)],
    ["said", row.prepared ? PREPARED : row.said || row.answered],
    ["problem", row.problem],
    ["called", calledBy(row)],
    ["tokens", tokensOf(row)],
    ["took", row.total_ms === null ? "" : ms(row.total_ms)],
    ["cost", money(row.cost)],
    ["asks", row.asks > 1 ? `${row.asks} upstream requests` : ""],
    ["client", [row.key === "anyone" ? "" : row.key, row.client].filter(Boolean).join(" ")],
  ];
  for (const [name, text] of parts) {
    if (text) element.append(Object.assign(document.createElement("span"), { className: name, textContent: text }));
  }
  return element;
}

/** How a turn ended, with the HTTP status. */
export function outcomeOf({ state, finish, status, error }) {
  if (state === "running") return "…";
  return status ? `${status} ${error || finish}` : finish;
}

export function calledBy({ calls = [], more_calls: more = 0 }) {
  const names = calls.slice(0, 3).join(", ");
  const others = calls.length - Math.min(calls.length, 3) + more;
  return calls.length ? `→ ${names}${others ? ` +${others}` : ""}` : "";
}

export function tokensOf({ tokens }) {
  if (!tokens) return "";
  const cached = tokens.cached ? ` (${count(tokens.cached)} cached)` : "";
  return `${count(tokens.input)}${cached} → ${count(tokens.output)} tokens`;
}
