// All about one turn, in tabs. A running turn is drawn again as it grows.

import { again } from "./send.js";
import { count, fold, folded, grid, h, json, money, ms, note, tabs, text } from "./dom.js";
import { byCall, dialogue, isCall, isOutput, itemsOf, outputOf } from "./items.js";

const NO_EVENTS = "There were no events: it was refused, or the client wanted no stream.";
const ELSEWHERE = "What the upstream was asked is told by the list of turns, where this server keeps them.";
const NO_REQUEST = "The request is no JSON object.";

/** How a turn ended, in a word or two. */
export function outcomeOf({ state, finish, status, error }) {
  if (state === "running") return "running";
  if (finish === "completed") return finish;
  return [status === 200 ? "" : status, error || finish].filter(Boolean).join(" ");
}

/** What a turn was about; Codex opens a websocket with a request that only prepares. */
export const wordsOf = (row) =>
  (isPrepared(row) ? "Only prepared: the client wanted no answer." : row.said || row.answered || "nothing was said");

export const isPrepared = ({ asks, finish }) => asks === 0 && finish === "completed";

/** The name of an upstream for people: `--upstream` gives it no name of its own. */
export const upstreamOf = ({ upstream }) => (upstream === "upstream" ? "" : upstream ?? "");

export const tokensOf = ({ input_tokens: read, output_tokens: written }) =>
  (read === undefined ? "" : `${count(read)} → ${count(written)}`);

export function figures(row) {
  const { input_tokens: read, output_tokens: written, cached_tokens: cached, reasoning_tokens: thought } = row;
  const { first_token_ms: first, duration_ms: whole, cost_estimate: cost } = row;
  const took = (whole ?? 0) - (first ?? 0);
  const speed = written > 1 && took >= 100 ? `${count(Math.round((1000 * written) / took))} tokens/s` : "";
  return [
    upstreamOf(row) && `upstream ${upstreamOf(row)}`,
    first ? `first token ${ms(first)}` : "",
    whole ? `total ${ms(whole)}` : "",
    tokensOf(row) && `${tokensOf(row)} tokens`,
    cached ? `${Math.floor((100 * cached) / read)} % cached` : "",
    thought ? `${count(thought)} reasoning` : "",
    speed,
    cost ? `${money(cost)} estimated` : "",
  ].filter(Boolean).join(" · ");
}

/** `element` shows a turn, `show(detail)` what is known of it by now. `shown(tab)` hears of tabs. */
export function turnView(first, { tab = "", shown = () => {}, links = [], title = "" } = {}) {
  let detail = first;
  const head = h("header");
  const status = h("span", { className: "status", role: "status" });
  const said = h("div");
  const panels = [
    { name: "answer", title: "Conversation", make: () => conversation(detail) },
    { name: "request", title: "Request", make: () => json(detail.request ?? NO_REQUEST) },
    { name: "asks", title: "Upstream", make: () => asked(detail) },
    { name: "events", title: "Events", make: () => events(detail) },
    { name: "response", title: "Response", make: () => json(detail.response ?? detail.problem ?? detail.fields) },
    { name: "timing", title: "Timing", make: () => timing(detail) },
    { name: "again", title: "Run again", make: () => again(detail), lasts: true },
  ];
  const tabbed = tabs(title ? panels.slice(0, -1) : panels, tab, shown);
  const element = h("div", { className: "turn" }, head, said, tabbed.list, tabbed.place);
  function show(next) {
    detail = next;
    const { row } = detail;
    const outcome = outcomeOf(row);
    if (status.textContent !== outcome) status.textContent = outcome; // or a screen reader says it again
    status.dataset.finish = row.state === "running" ? "running" : row.finish;
    const name = title || row.model || "no model";
    const buttons = links.map((each) => each(detail)).filter(Boolean);
    head.replaceChildren(h("h2", {}, name), status, ...buttons, h("span", { className: "grow" }),
      h("span", { className: "dim figures" }, figures(row)));
    const warnings = detail.warnings ?? detail.fields?.warnings ?? [];
    said.replaceChildren(...warnings.map((words) => note(words, "warning")));
    if (tabbed.place.dataset.name !== "again") tabbed.redrawn();
  }
  show(detail);
  return { element, show };
}

/** What was said: what was there before folded, then what was new, then the answer. */
export function conversation(detail) {
  const { request, problem, response, changes } = detail;
  const items = itemsOf(request?.input);
  const output = outputOf(detail);
  const all = [...items, ...output];
  const known = { outputs: byCall(all, isOutput), calls: byCall(all, isCall) };
  const from = changes?.known ?? 0;
  const elements = [folded("Instructions", request?.instructions)].filter(Boolean);
  if (from) elements.push(fold([`${from} items that were there before`], () => dialogue(items.slice(0, from), known)));
  elements.push(...dialogue(items.slice(from), known), h("hr"), ...dialogue(output, known));
  const error = problem?.error ?? response?.error;
  if (error) elements.push(note(`${problem?.status ?? ""} ${error.code}: ${error.message}`, "failure"));
  const why = response?.incomplete_details?.reason;
  if (why) elements.push(note(`Incomplete: ${why}`, "warning"));
  return elements;
}

function asked({ asks, row }) {
  if (!asks.length && row.asks === undefined) return [note(ELSEWHERE)]; // it was sent from here
  if (!asks.length) return [note(row.state === "running" ? "Nothing was asked yet." : "No upstream was asked.")];
  return asks.flatMap((ask, index) => {
    const times = [ask.first === null ? "" : `first data after ${ms(ask.first - ask.at)}`,
      ask.end === null ? "" : `took ${ms(ask.end - ask.at)}`];
    const number = asks.length > 1 ? `Ask ${index + 1}` : "";
    const title = [number, upstreamOf(ask), ask.model, ask.status && `HTTP ${ask.status}`];
    const why = ask.cause && ask.cause !== ask.error ? `${ask.error} (${ask.cause})` : ask.error;
    return [
      h("h3", {}, [...title, ...times].filter(Boolean).join(" · ")),
      ...(why ? [note(why, "failure")] : []),
      fold(["What it was asked"], () => json(ask.body), { open: true }),
      ask.bytes ? fold(["What it sent", `${count(ask.bytes)} bytes`], () => text(ask.text), { open: true })
        : note("Nothing came back over HTTP."),
    ];
  });
}

/** Every event; deltas that follow each other are one row. */
function events({ events: all, row }) {
  if (!all.length) return [note(row.state === "running" ? "No event yet." : NO_EVENTS)];
  const rows = [];
  for (const [index, one] of all.entries()) {
    const { type, item_id: item, content_index: part, summary_index: summary, delta } = one.event;
    const group = typeof delta === "string" ? [type, item, part, summary].join() : "";
    if (group && rows.at(-1)?.group === group) rows.at(-1).all.push(one);
    else rows.push({ group, index, all: [one], gap: one.at - (all[index - 1]?.at ?? 0) });
  }
  return [note(`${count(all.length)} events`), h("div", { className: "events" }, ...rows.map(eventRow))];
}

function eventRow({ all, index, gap }) {
  const [{ event, at }] = all;
  const many = all.length > 1;
  const cell = (className, words) => h("span", { className }, words);
  const summary = h("summary", { title: `${at.toFixed(1)} ms after the request` },
    cell("number", String(event.sequence_number ?? index)),
    cell("gap", gap >= 0.05 ? `+${gap.toFixed(gap < 10 ? 1 : 0)}` : ""),
    cell("type", (many ? `${all.length} × ` : "") + String(event.type).replace("response.", "")),
    cell("what", many ? JSON.stringify(all.map((each) => each.event.delta).join("")) : gist(event)));
  const details = h("details", {}, summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    details.append(text(all.map((each) => JSON.stringify(each.event, null, 2)).join("\n")));
  });
  return details;
}

/** An event in a few words. */
function gist(event) {
  if (typeof event.delta === "string") return JSON.stringify(event.delta);
  if (event.item) return [event.item.type, event.item.name, event.item.status].filter(Boolean).join(" · ");
  if (typeof event.text === "string") return JSON.stringify(event.text.slice(0, 80));
  return event.response?.status ?? event.part?.type ?? event.error?.code ?? "";
}

/** Where the time went: each phase as a bar on one scale. */
function timing({ asks, row, events: all }) {
  const end = Math.max(row.duration_ms ?? 0, ...asks.map((ask) => ask.end ?? ask.at), all.at(-1)?.at ?? 0, 0.001);
  const phases = [];
  if (asks.length) phases.push(["reading and translating", 0, asks[0].at]);
  for (const [index, ask] of asks.entries()) {
    const name = [asks.length > 1 ? `ask ${index + 1}` : "ask", upstreamOf(ask)].filter(Boolean).join(" ");
    phases.push([`${name}: ${ask.error ? "refused" : "waiting"}`, ask.at, ask.first ?? ask.end ?? end]);
    if (ask.first !== null) phases.push([`${name}: receiving`, ask.first, ask.end]);
  }
  if (all.length) phases.push(["events to the client", all[0].at, all.at(-1).at]);
  const lines = phases.map(([name, from, to]) => {
    const bar = h("div", { className: "time" });
    bar.style.marginLeft = `${(100 * from) / end}%`;
    bar.style.width = `${Math.max((100 * (to - from)) / end, 0.5)}%`;
    const cells = [name, ms(from), ms(to - from), bar].map((cell) => h("td", {}, cell));
    return h("tr", {}, ...cells);
  });
  const table = h("div", { className: "timing" }, grid(["Phase", "From", "Takes", "When"], lines));
  return [note(`The whole turn: ${ms(end)}.`), table];
}
