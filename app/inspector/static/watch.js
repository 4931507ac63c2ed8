// The last turns of the server, whoever sent them, and each new one as it runs.

import { Listbox } from "./controls.js";
import { briefly, calledIn, cut } from "./excerpt.js";
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
    this.box = new Listbox(this.list, {
      chosen: (row) => this.#show(row),
      opened: () => matchMedia("(max-width: 760px)").matches && this.place.scrollIntoView(),
    });
  }

  /** Listen, for as long as the page is there. */
  async listen() {
    if (this.hearing) return;
    const hearing = (this.hearing = new AbortController());
    while (await this.#hear(hearing.signal).catch(() => true)) {
      if (hearing.signal.aborted) return;
      this.#say("Connection lost. Reconnecting …");
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
    this.box.clear();
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
      if (this.shown?.id === note.id) this.box.select(turn.row);
    }
    if (type === "asked") {
      turn.asks.push(note);
      if (!note.goes_on) {
        turn.said = briefly(note.request);
        turn.prompt = note.ask;
      }
    }
    if (type === "failed" && turn.asks.length) turn.asks.at(-1).error = note.error;
    if (type === "sent") {
      for (const name of calledIn(note.events)) turn.called.add(name);
    }
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
    const turn = { id: note.id, asks: [], events: [], called: new Set(), said: "", row };
    this.turns.set(note.id, turn);
    this.list.prepend(row);
    return turn;
  }

  #line(turn) {
    const ended = turn.ended?.fields ?? {};
    const called = [...turn.called];
    const parts = [
      ["when", turn.when ?? ""],
      ["model", turn.model ?? ""],
      ["finish", finishOf(ended)],
      ["said", turn.said],
      ["problem", cut(turn.refused?.error?.message ?? "")],
      ["called", called.length ? `→ ${called.slice(0, 3).join(", ")}${called.length > 3 ? ` +${called.length - 3}` : ""}` : ""],
      ["tokens", ended.input_tokens === undefined ? "" : `${ended.input_tokens} → ${ended.output_tokens} tokens`],
      ["took", ended.duration_ms === undefined ? "" : `${ended.duration_ms} ms`],
      ["client", turn.key === "anyone" ? "" : (turn.key ?? "")],
    ].filter(([, text]) => text);
    turn.row.dataset.finish = ended.finish ?? "running";
    turn.row.replaceChildren(...parts.map(([name, text]) => Object.assign(document.createElement("span"), { className: name, textContent: text })));
  }

  #show(row) {
    const turn = this.turns.get(row.dataset.id);
    this.shown = { id: turn.id, run: new Run(`${turn.model ?? ""} · ${turn.id}`, { live: !turn.ended }) };
    this.shown.run.began = 0; // events say when they came, from the turn's beginning on
    this.place.replaceChildren(this.shown.run.element);
    if (turn.asks.length) this.#follow("asked", turn.asks.at(-1));
    for (const { event, at } of turn.events) this.shown.run.take(event, at);
    if (turn.refused) this.#follow("refused", turn.refused);
    if (turn.ended) this.#follow("ended", turn.ended);
    this.shown.run.timeline.end();
  }

  #follow(type, note) {
    const { run } = this.shown;
    const { asks } = this.turns.get(note.id);
    if ((type === "asked" || type === "failed") && asks.length) {
      run.asked(partsOf(asks));
      run.ask = this.turns.get(note.id).prompt;
      for (const { warnings } of asks) run.warn(warnings ?? []);
    }
    if (type === "sent") for (const event of note.events) run.take(event, note.at);
    if (type === "refused") run.refuse(note.status, note.error);
    if (type === "ended") run.ended(note.fields, note.left_out, this.turns.get(note.fields.prompt_since));
  }

  #say(text) {
    this.state.textContent = text;
  }
}

/** What the client sent, folded, and what each upstream was asked. */
function partsOf(asks) {
  const sent = { title: ["Client request", `${JSON.stringify(asks[0].request).length} characters`], value: asks[0].request };
  return [sent, ...asks.flatMap(({ upstream, ask, error, goes_on: goesOn }, index) => [
    { title: [`Upstream request to ${upstream}${goesOn ? ", to go on after a pause" : ""}`], value: ask, open: index === asks.length - 1 },
    ...(error ? [{ title: [`Error of ${upstream}`], value: error, open: true }] : []),
  ])];
}

/** How a turn ended, with the HTTP status if that was not 200. */
function finishOf({ finish, status, error }) {
  if (finish === undefined) return "…";
  return status === undefined ? finish : `${status} ${error ?? finish}`;
}
