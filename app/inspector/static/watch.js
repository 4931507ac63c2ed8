// The last turns that passed through the server, whoever sent them, and each new one as it goes.

import { Run } from "./run.js";
import { eventsOf } from "./sse.js";

const AGAIN = 2000; // milliseconds until a lost connection is tried anew

export class Watch {
  constructor(headers) {
    this.headers = headers;
    this.list = document.getElementById("turns");
    this.state = document.getElementById("watch-state");
    this.place = document.getElementById("watched");
    this.turns = new Map();
    this.shown = null;
    this.list.addEventListener("click", (click) => this.#choose(click.target.closest("li")));
    this.list.addEventListener("keydown", (key) => this.#key(key));
  }

  /** Listen, for as long as the page is there. */
  async listen() {
    if (this.hearing) return;
    const hearing = (this.hearing = new AbortController());
    while (await this.#hear(hearing.signal).catch(() => true)) {
      if (hearing.signal.aborted) return;
      this.#say("the connection was lost; trying again …");
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
    if (this.hearing === hearing) this.hearing = null;
  }

  /** Stop listening, such as for another key: it may see other turns. */
  stop() {
    this.hearing?.abort();
    this.hearing = null;
    this.#forget();
    this.place.replaceChildren();
    this.shown = null;
  }

  /** Whether it is worth another try. */
  async #hear(signal) {
    const answer = await fetch("/inspector/turns", { headers: this.headers(), signal });
    if (!answer.ok) {
      const { error } = await answer.json();
      this.#say(error.message);
      return false;
    }
    this.#say("live");
    this.#forget(); // all that is kept is sent again
    for await (const { type, data } of eventsOf(answer)) this.#take(type, JSON.parse(data));
    return true;
  }

  #forget() {
    this.turns.clear();
    this.list.replaceChildren();
  }

  #take(type, note) {
    if (type === "forgotten") {
      this.turns.get(note.id)?.row.remove();
      this.turns.delete(note.id);
      return;
    }
    const turn = this.turns.get(note.id) ?? this.#add(note);
    if (type === "began") {
      Object.assign(turn, note);
      if (this.shown?.id === note.id) this.#choose(turn.row);
    }
    if (type === "asked") turn.asks.push(note);
    if (type === "failed" && turn.asks.length) turn.asks.at(-1).error = note.error;
    if (type === "sent") turn.events.push(...note.events.map((event) => ({ event, at: note.at })));
    if (type === "refused") turn.refused = note;
    if (type === "ended") turn.ended = note;
    this.#line(turn);
    if (this.shown?.id === note.id) this.#follow(type, note);
  }

  #add(note) {
    const row = document.createElement("li");
    row.setAttribute("role", "option");
    row.dataset.id = note.id;
    const turn = { id: note.id, asks: [], events: [], row };
    this.turns.set(note.id, turn);
    this.list.prepend(row);
    return turn;
  }

  #line(turn) {
    const ended = turn.ended?.fields ?? {};
    const parts = [
      ["when", turn.when ?? ""],
      ["model", turn.model ?? ""],
      ["finish", ended.finish ?? "…"],
      ["took", ended.duration_ms === undefined ? "" : `${ended.duration_ms} ms`],
      ["client", turn.key ?? ""],
    ];
    turn.row.dataset.finish = ended.finish ?? "running";
    turn.row.replaceChildren(...parts.map(([name, text]) => Object.assign(document.createElement("span"), { className: name, textContent: text })));
  }

  #choose(row) {
    const turn = row && this.turns.get(row.dataset.id);
    if (!turn) return;
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    row.setAttribute("aria-selected", "true");
    this.shown = { id: turn.id, run: new Run(`${turn.model ?? ""} · ${turn.id}`) };
    this.shown.run.began = 0; // events say when they came, from the turn's beginning on
    this.place.replaceChildren(this.shown.run.element);
    for (const note of turn.asks) this.#follow("asked", note);
    for (const { event, at } of turn.events) this.shown.run.take(event, at);
    if (turn.refused) this.#follow("refused", turn.refused);
    if (turn.ended) this.#follow("ended", turn.ended);
    this.shown.run.timeline.end();
  }

  #follow(type, note) {
    const { run } = this.shown;
    const { asks } = this.turns.get(note.id);
    if ((type === "asked" || type === "failed") && asks.length) {
      const sent = asks.map(({ upstream, ask, error }) => ({ upstream, ask, error }));
      run.asked({ request: asks[0].request, ...(sent.length === 1 ? sent[0] : { asks: sent }) });
    }
    if (type === "asked") run.warn(note.warnings ?? []);
    if (type === "sent") for (const event of note.events) run.take(event, note.at);
    if (type === "refused") run.refuse(note.status, note.error);
    if (type === "ended") run.ended(note.fields, note.left_out);
  }

  #key(key) {
    const rows = [...this.list.children];
    const here = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    if (step === undefined || !rows.length) return;
    this.#choose(rows[Math.min(Math.max(here + step, 0), rows.length - 1)]);
    key.preventDefault();
  }

  #say(text) {
    this.state.textContent = text;
  }
}
