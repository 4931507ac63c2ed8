// The conversations that the kept turns belong to.

import { count, money } from "./format.js";

/** Turns in the order in which they began -> conversations, the one that went on last first. */
export function conversationsOf(rows) {
  const found = new Map();
  for (const row of rows) {
    const one = found.get(row.session) ?? { session: row.session, rows: [] };
    one.rows.push(row);
    found.set(row.session, one);
  }
  return [...found.values()].sort((one, other) => other.rows.at(-1).number - one.rows.at(-1).number);
}

/** The element of a conversation in the list. */
export function conversationRow({ session, rows }) {
  const element = document.createElement("li");
  element.dataset.session = session;
  const last = rows.at(-1);
  const bad = rows.filter((row) => ["failed", "refused"].includes(row.finish)).length;
  element.dataset.finish = rows.some((row) => row.state === "running") ? "running" : last.finish;
  const total = totalsOf(rows);
  const parts = [
    ["when", last.when],
    ["model", [...new Set(rows.map((row) => row.model))].join(", ")],
    ["finish", bad ? `${bad} failed` : rows.some((row) => row.state === "running") ? "…" : ""],
    ["said", (rows.find((row) => row.said && !row.prepared) ?? rows[0]).said || "…"],
    ["called", `${rows.length} ${rows.length === 1 ? "turn" : "turns"}`],
    ["tokens", total.input + total.output ? `${count(total.input)} → ${count(total.output)} tokens` : ""],
    ["cost", money(total.cost)],
    ["client", last.client],
  ];
  for (const [name, text] of parts) {
    if (text) element.append(Object.assign(document.createElement("span"), { className: name, textContent: text }));
  }
  return element;
}

/** Sums over these turns. Without a cost if none is known, or in two currencies. */
export function totalsOf(rows) {
  const total = { input: 0, cached: 0, output: 0, ms: 0, cost: null };
  const costs = rows.map((row) => row.cost).filter(Boolean);
  for (const { tokens, total_ms: took } of rows) {
    total.input += tokens?.input ?? 0;
    total.cached += tokens?.cached ?? 0;
    total.output += tokens?.output ?? 0;
    total.ms += took ?? 0;
  }
  if (costs.length && new Set(costs.map((cost) => cost.currency)).size === 1) {
    total.cost = { amount: costs.reduce((sum, cost) => sum + cost.amount, 0), currency: costs[0].currency };
  }
  return total;
}
