// Every event on a timeline: its number, the milliseconds since the one before, its colour, its JSON on demand.

import { Listbox } from "./controls.js";

const LANES = 8; // colours; further items begin anew
const ROWS_AT_ONCE = 400;

export class Timeline {
  constructor(list, strip, following) {
    this.list = list;
    this.strip = strip;
    this.events = [];
    this.lanes = new Map();
    this.waiting = [];
    this.began = null;
    this.follow = following(list);
    this.box = new Listbox(list, { opened: (row) => this.#toggle(row) });
  }

  /** One event, at `at` milliseconds of any clock. */
  take(event, at) {
    this.began ??= at;
    const row = { event, at: at - this.began, gap: this.events.length ? at - this.events.at(-1).clock : 0, clock: at };
    this.events.push(row);
    this.waiting.push(row);
    if (this.waiting.length === 1) requestAnimationFrame(() => this.#draw());
  }

  /** Nothing more comes. */
  end() {
    this.#draw();
  }

  #draw() {
    const rows = document.createDocumentFragment();
    for (const row of this.waiting.splice(0, ROWS_AT_ONCE)) rows.append(this.#row(row));
    this.list.append(rows);
    this.follow();
    this.#drawStrip();
    if (this.waiting.length) requestAnimationFrame(() => this.#draw());
  }

  #row(row) {
    const { event, gap, at } = row;
    const element = document.createElement("li");
    element.setAttribute("role", "option");
    element.dataset.lane = this.#laneOf(event);
    element.title = `${at.toFixed(1)} ms after the first`;
    element.append(
      cell("number", event.sequence_number ?? "·"),
      cell("gap", gap >= 0.05 || this.events[0] === row ? `+${gap.toFixed(gap < 10 ? 1 : 0)}` : ""),
      cell("lane", ""),
      cell("type", event.type.replace(/^response\./, "")),
      cell("what", gist(event)),
    );
    element.row = row;
    return element;
  }

  /** Lifecycle events have lane 0, every item one of its own. */
  #laneOf(event) {
    const seat = event.output_index;
    if (seat === undefined) return 0;
    if (!this.lanes.has(seat)) {
      const kind = event.item?.type ?? event.type.split(".")[1];
      this.lanes.set(seat, { number: (this.lanes.size % LANES) + 1, kind: event.item?.name ?? kind.replace("_call", "") });
    }
    return this.lanes.get(seat).number;
  }

  #drawStrip() {
    const last = Math.max(this.events.at(-1)?.at ?? 0, 1);
    const height = 18 * (this.lanes.size + 1);
    const svg = svgElement("svg", { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none", height });
    for (const { event, at } of thinned(this.events)) {
      const lane = this.#laneOf(event);
      const y = 18 * (event.output_index === undefined ? 0 : [...this.lanes.keys()].indexOf(event.output_index) + 1);
      svg.append(svgElement("rect", { x: 4 + (at / last) * 988, y: y + 4, width: 3, height: 10, class: `lane-${lane}` }));
    }
    const names = document.createElement("div");
    names.className = "names";
    for (const [name, lane] of [["lifecycle", 0], ...[...this.lanes.values()].map(({ kind, number }) => [kind, number])]) {
      const label = cell(`lane-${lane}`, name);
      names.append(label);
    }
    const end = cell("end", `${last.toFixed(0)} ms`);
    this.strip.replaceChildren(names, svg, end);
  }

  #toggle(element) {
    const open = element.nextElementSibling?.classList.contains("raw") ? element.nextElementSibling : null;
    if (open) return open.remove();
    const raw = document.createElement("li");
    raw.className = "raw";
    raw.setAttribute("role", "presentation");
    const text = document.createElement("pre");
    text.className = "json";
    text.tabIndex = 0;
    text.textContent = JSON.stringify(element.row.event, null, 2);
    raw.append(text);
    element.after(raw);
  }
}

/** At most a thousand of them: the strip is a thousand wide. */
function thinned(events) {
  const every = Math.ceil(events.length / 1000);
  return events.filter((row, index) => index % every === 0 || row.event.output_index === undefined);
}

/** An event in a few words. */
function gist(event) {
  if (typeof event.delta === "string") return JSON.stringify(event.delta);
  if (event.item) return [event.item.type, event.item.name, event.item.status].filter(Boolean).join(" · ");
  if (event.response) return event.response.status ?? "";
  if (typeof event.text === "string") return JSON.stringify(event.text.slice(0, 80));
  return event.part?.type ?? event.error?.code ?? "";
}

function cell(name, text) {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
}

function svgElement(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
