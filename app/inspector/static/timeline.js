// Every event of an answer: its number, the time since the one before, its colour, its JSON on demand.
// Deltas that follow each other are one row, unless all are asked for.

import { Strip } from "./strip.js";
import { Windowed } from "./windowed.js";

const LANES = 8; // colours; further items begin anew
const JOINED = 200; // characters of joined deltas that a row shows

export class Timeline {
  /** `place` holds the strip, the switch, the list, and the JSON of the selected event. `live`: follow what is new. */
  constructor(place, { live = true } = {}) {
    this.list = place.querySelector(".events");
    this.raw = place.querySelector(".raw");
    this.count = place.querySelector(".count");
    this.every = place.querySelector(".every");
    this.strip = new Strip(place.querySelector(".strip"));
    this.live = live;
    this.follows = live;
    this.events = [];
    this.rows = [];
    this.grown = new Set(); // rows that have become longer since the last drawing
    this.lanes = new Map();
    this.began = null;
    this.box = new Windowed(this.list, {
      make: (row) => this.#row(row),
      chosen: (row) => !this.raw.hidden && this.#open(row),
      opened: (row) => this.#toggle(row),
    });
    this.list.addEventListener("scroll", () => (this.follows = this.live && this.box.atEnd()), { passive: true });
    this.every.addEventListener("change", () => this.#foldAgain());
    place.addEventListener("keydown", (key) => this.#escape(key));
  }

  /** One event, at `at` milliseconds of any clock. */
  take(event, at) {
    this.began ??= at;
    const last = this.events.at(-1);
    const one = { event, at: at - this.began, gap: last ? at - this.began - last.at : 0, lane: this.#laneOf(event) };
    this.events.push(one);
    this.#fold(one);
    this.#later();
  }

  /** Nothing more comes. */
  end() {
    this.strip.last = undefined; // at once
    this.#draw();
  }

  /** The event joins the row before it if both are deltas of one text. */
  #fold(one) {
    const row = this.rows.at(-1);
    const { type, item_id: item, output_index: seat, content_index: part, summary_index: summary } = one.event;
    const group = typeof one.event.delta === "string" ? [type, item, seat, part, summary].join() : "";
    if (group && row?.group === group && !this.every.checked) {
      row.all.push(one);
      this.grown.add(row);
    } else this.rows.push({ group, all: [one], number: this.events.length - 1 });
  }

  #foldAgain() {
    const { events } = this;
    const here = this.box.selected?.all[0];
    this.events = [];
    this.rows = [];
    for (const one of events) {
      this.events.push(one);
      this.#fold(one);
    }
    this.#close();
    this.box.show([...this.rows]);
    const row = here && this.rows.find(({ all }) => all.includes(here));
    if (row) this.box.select(row);
    this.#draw();
  }

  #later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.asked = false;
    for (const row of this.grown) this.box.touch(row);
    this.grown.clear();
    this.box.show(this.rows);
    if (this.follows) this.box.toEnd();
    const folded = this.events.length - this.rows.length;
    this.count.textContent = `${this.events.length} events${folded ? `, ${folded} of them folded` : ""}`;
    this.strip.draw(this.events, this.lanes);
  }

  #row({ all, number }) {
    const [{ event, gap, at, lane }] = all;
    const element = document.createElement("li");
    element.dataset.lane = lane;
    element.title = `${at.toFixed(1)} ms after the first`;
    const many = all.length > 1 ? `${all.length} × ` : "";
    element.append(
      cell("number", event.sequence_number ?? number),
      cell("gap", gap >= 0.05 || number === 0 ? `+${gap.toFixed(gap < 10 ? 1 : 0)}` : ""),
      cell("lane", ""),
      cell("type", many + String(event.type).replace(/^response\./, "")),
      cell("what", many ? JSON.stringify(joined(all)) : gist(event)),
    );
    return element;
  }

  /** Lifecycle events have lane 0, every item one of its own. */
  #laneOf(event) {
    const seat = event.output_index;
    if (seat === undefined) return 0;
    if (!this.lanes.has(seat)) {
      const kind = event.item?.type ?? String(event.type).split(".")[1] ?? "";
      this.lanes.set(seat, { number: (this.lanes.size % LANES) + 1, kind: event.item?.name ?? String(kind).replace("_call", "") });
    }
    return this.lanes.get(seat).number;
  }

  #toggle(row) {
    if (!this.raw.hidden && this.open === row) this.#close();
    else this.#open(row);
  }

  #open(row) {
    this.open = row;
    this.raw.hidden = false;
    const [{ event }] = row.all;
    const shown = row.all.length > 1 ? { ...event, delta: row.all.map((one) => one.event.delta).join("") } : event;
    const note = row.all.length > 1 ? `${row.all.length} events, their deltas joined:\n` : "";
    this.raw.querySelector("pre").textContent = note + JSON.stringify(shown, null, 2);
  }

  #close() {
    this.raw.hidden = true;
    this.open = null;
  }

  #escape(key) {
    if (key.key !== "Escape" || this.raw.hidden) return;
    this.#close();
    this.list.focus();
    key.stopPropagation();
  }
}

function joined(all) {
  let text = "";
  for (const { event } of all) {
    text += event.delta;
    if (text.length > JOINED) return `${text.slice(0, JOINED)}…`;
  }
  return text;
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
  return Object.assign(document.createElement("span"), { className: name, textContent: text });
}
