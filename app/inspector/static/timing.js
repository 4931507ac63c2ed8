// Where the time went: each phase of a turn as a bar on one scale.

import { ms } from "./format.js";

const MOST = 400; // phases
const WHOLE = new Set(["ask", "again", "fallback", "second_ask", "going_on"]); // a request to an upstream; the others are parts
const ENDS = { running: "running", refused: "refused", broke_off: "broke off", stopped: "stopped", again: "answer not used" };

/** Elements that show these phases. */
export function timingOf({ timeline = [], row, asks = [] }) {
  if (!timeline.length) return [Object.assign(document.createElement("p"), { textContent: "No times are known of this turn yet." })];
  const end = Math.max(row.total_ms ?? 0, ...timeline.map((phase) => phase.to ?? phase.from), 0.001);
  const table = document.createElement("table");
  table.className = "timing";
  table.append(line("th", "Phase", "From", "Takes", "When"));
  for (const phase of timeline.slice(0, MOST)) {
    const took = (phase.to ?? end) - phase.from;
    const element = line("td", nameOf(phase, asks), ms(phase.from), phase.to === null ? "running" : ms(took), "");
    element.dataset.phase = phase.phase;
    if (phase.ask) element.className = WHOLE.has(phase.phase) ? "whole" : "part";
    const bar = document.createElement("div");
    bar.className = "bar-of-time";
    bar.style.marginLeft = `${(100 * phase.from) / end}%`;
    bar.style.width = `${Math.max((100 * took) / end, 0.3)}%`;
    element.lastElementChild.append(bar);
    table.append(element);
  }
  const scale = Object.assign(document.createElement("p"), { className: "scale", textContent: `${row.state === "running" ? "So far" : "The whole turn"}: ${ms(end)}.` });
  if (timeline.length > MOST) scale.textContent += ` ${timeline.length - MOST} more phases are not shown.`;
  return [scale, table];
}

function nameOf({ phase, ask, words }, asks) {
  const { upstream, outcome } = (WHOLE.has(phase) && asks.find(({ number }) => number === ask)) || {};
  const request = [ask ? `request ${ask}` : "", upstream].filter(Boolean).join(" to ");
  return [words || phase, request, ENDS[outcome]].filter(Boolean).join(" · ");
}

function line(kind, ...texts) {
  const element = document.createElement("tr");
  element.append(...texts.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
  return element;
}
