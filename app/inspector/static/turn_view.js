// All about one turn, in tabs. A running turn grows while it is watched.

import { again } from "./again.js";
import { Answer } from "./answer.js";
import { isCall, isOutput } from "./blocks.js";
import { cacheLines, changesOf } from "./changes.js";
import { tabs, unique } from "./controls.js";
import { byCall, dialogue, itemsOf } from "./dialogue.js";
import { fold, folded } from "./folded.js";
import { following } from "./following.js";
import { bytes, count, money, ms } from "./format.js";
import { outcomeOf } from "./rows.js";
import { Timeline } from "./timeline.js";
import { timingOf } from "./timing.js";

const UNREAD = "The request is not known: it is not read yet, or it was refused before it was read, or it is not a JSON object.";
const NO_BYTES = "There are no upstream bytes: nothing was read over HTTP here. Only the chunks are known.";
const NOTHING_CAME = "No upstream bytes: nothing came back, or it is not kept.";

export class TurnView {
  /**
   * `open(number)` shows another turn, `openSession(number)` a conversation, `tabShown(name)` hears of tabs.
   */
  constructor(detail, { feed, headers, open, openSession, tabShown = () => {}, tab = "" }) {
    Object.assign(this, { feed, headers, open, openSession, tabShown, tab });
    this.isLive = detail.row.state === "running";
    this.element = document.getElementById("turn").content.firstElementChild.cloneNode(true);
    this.list = this.#one(".tabs");
    this.stopping = new AbortController();
    this.answerPlace = document.createElement("div");
    this.answer = new Answer(this.answerPlace, this.isLive ? following : () => () => {}, { open: this.isLive });
    this.eventsPane = document.getElementById("run").content.querySelector('.pane[data-pane="events"]').cloneNode(true);
    this.timeline = new Timeline(this.eventsPane, { live: this.isLive });
    this.events = [...this.eventsPane.childNodes];
    if (this.isLive) this.#watch(detail.row.number);
    else for (const { event, at } of detail.events) this.#take(event, at);
    this.show(detail);
  }

  /** Show this detail. */
  show(detail) {
    this.detail = detail;
    this.#head();
    this.#lay();
    if (detail.refused) this.answer.refused(detail.refused.error ?? {});
    this.timeline.end();
    this.#compareWithBefore();
  }

  stop() {
    this.stopping.abort();
  }

  #take(event, at) {
    this.timeline.take(event, at);
    this.answer.take(event);
  }

  async #watch(number) {
    try {
      for await (const { type, note } of this.feed.live(number, this.stopping.signal)) {
        if (type === "sent") for (const event of note.events) this.#take(event, note.at);
        if (type === "asked" && note.ask_number > this.detail.asks.length) await this.#look(number);
      }
      await this.#look(number);
    } catch (error) {
      if (!this.stopping.signal.aborted) this.#one(".notes").textContent = `The connection was lost: ${error.message}`;
    }
  }

  /** What is known of it by now. */
  async #look(number) {
    const detail = await this.feed.turn(number);
    if (detail && !this.stopping.signal.aborted) this.show(detail);
  }

  #head() {
    const { row, asks, events_left_out: leftOut } = this.detail;
    this.#one("h2").textContent = `${row.model} · ${row.id}`;
    const status = this.#one(".status");
    const outcome = row.state === "running" ? "streaming" : row.finish === "refused" ? outcomeOf(row) : row.finish;
    if (status.textContent !== outcome) status.textContent = outcome; // or a screen reader says it again
    status.dataset.state = outcome.split(" ")[0];
    const { tokens } = row;
    this.#one(".figures").textContent = [
      row.upstream ? `upstream ${row.upstream}${asks.length > 1 ? `, ${asks.length} requests` : ""}` : "",
      row.first_ms === null ? "" : `first token ${ms(row.first_ms)}`,
      row.total_ms === null ? "" : `total ${ms(row.total_ms)}`,
      tokens ? `${count(tokens.input)} → ${count(tokens.output)} tokens` : "",
      tokens?.reasoning ? `${count(tokens.reasoning)} reasoning` : "",
      speedOf(row),
      row.cost ? `${money(row.cost)} estimated` : "",
    ].filter(Boolean).join(" · ");
    const warnings = new Set(asks.flatMap((ask) => ask.warnings ?? []));
    if (leftOut) warnings.add(`${count(leftOut)} events of this request were too large to be kept.`);
    this.#one(".warnings").replaceChildren(...[...warnings].map((text) => Object.assign(document.createElement("p"), { textContent: text })));
    this.#one(".warnings").hidden = !warnings.size;
    const button = this.#one(".to-session");
    button.hidden = row.session === null || row.session === undefined;
    button.onclick = () => this.openSession(row.session);
  }

  /** The part that needs the turn before, which has to be asked for. */
  async #compareWithBefore() {
    const since = this.detail.changes?.since;
    this.before = since === undefined ? null : await this.feed.turn(since).catch(() => null);
    const lines = cacheLines(this.detail.row.tokens);
    this.#one(".cache").replaceChildren(...lines);
    this.#one(".cache").hidden = !lines.length;
    const place = this.#one('.pane[data-name="changes"]');
    if (place?.childElementCount) place.replaceChildren(...changesOf(this.detail, this.before, this.open));
  }

  /** The tabs. What is in them is made when they are shown, and once more when the turn has ended. */
  #lay() {
    this.panels = this.#panels();
    const places = new Map([...this.element.querySelectorAll(":scope > .pane")].map((place) => [place.dataset.name, place]));
    this.panels.forEach((panel, index) => {
      const tab = this.list.querySelector(`[data-name="${panel.name}"]`) ?? this.#tab(panel.name);
      if (tab.textContent !== panel.title) tab.textContent = panel.title;
      if (this.list.children[index] !== tab) this.list.insertBefore(tab, this.list.children[index] ?? null);
      const place = places.get(panel.name);
      if (place?.childElementCount && !panel.lasts) this.#fill(panel, place, { again: !place.hidden });
    });
    this.showTab ??= tabs(this.list, this.element, (tab) => this.#shown(this.panels.find(({ name }) => name === tab.dataset.name)));
    this.showTab(this.list.querySelector(`[data-name="${CSS.escape(this.tab)}"]`) ?? this.list.firstElementChild);
  }

  /** A new tab, and the panel for it. */
  #tab(name) {
    const tab = Object.assign(document.createElement("button"), { id: unique("tab") });
    const place = Object.assign(document.createElement("section"), { className: "pane", id: unique("panel"), hidden: true });
    place.dataset.name = tab.dataset.name = name;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", place.id);
    place.setAttribute("role", "tabpanel");
    place.setAttribute("aria-labelledby", tab.id);
    this.element.append(place);
    return tab;
  }

  /** Empties a panel, or makes what is in it anew, scrolled as it was. */
  #fill(panel, place, { again }) {
    const { scrollTop = 0 } = place.firstElementChild;
    const hadFocus = place.firstElementChild === document.activeElement;
    place.replaceChildren(...(again ? panel.make() : []));
    if (!again) return;
    place.firstElementChild.scrollTop = scrollTop;
    if (hadFocus) place.firstElementChild.focus();
  }

  /** Show the tab of this name, if there is one. */
  choose(name) {
    const tab = this.#one(`.tabs [data-name="${CSS.escape(name)}"]`);
    if (tab) this.showTab(tab);
  }

  #shown(panel) {
    const place = this.#one(`.pane[data-name="${panel.name}"]`);
    if (!place.childElementCount) place.append(...panel.make());
    if (this.tab !== panel.name) this.tabShown(panel.name);
    this.tab = panel.name;
  }

  #panels() {
    const { detail } = this; // a panel that `lasts` is not made anew when the turn has ended
    const many = detail.asks.length > 1;
    return [
      { name: "conversation", title: "Conversation", make: () => [scrolled(this.#conversation(), "Conversation")] },
      ...(detail.changes ? [{ name: "changes", title: "Changes", make: () => changesOf(detail, this.before, this.open) }] : []),
      { name: "request", title: "Client request", make: () => [scrolled(detail.request ? folded(detail.request) : [note(UNREAD)], "Client request", "json")] },
      ...detail.asks.map((ask, index) => ({
        name: `ask-${index + 1}`,
        title: many ? `Upstream request ${index + 1} · ${ask.upstream}` : "Upstream request",
        make: () => [scrolled(this.#ask(ask), "Upstream request", "json")],
      })),
      { name: "events", title: "Events", make: () => this.events, lasts: true },
      { name: "response", title: "Response", make: () => [scrolled(folded(this.#response()), "Response", "json")] },
      { name: "timing", title: "Timing", make: () => [scrolled(timingOf(detail), "Timing")] },
      { name: "again", title: "Run again", make: () => again(() => this.detail, { headers: this.headers }), lasts: true },
    ];
  }

  #conversation() {
    const items = itemsOf(this.detail.request);
    const calls = byCall(items, isCall);
    const outputs = byCall(items, isOutput);
    const from = this.detail.changes?.new_items?.[0] ?? 0;
    const { instructions, left_out: leftOut } = this.detail.request ?? {};
    const elements = [];
    if (leftOut) elements.push(note(`The request is ${/waits/.test(leftOut) ? "not" : "too long to be"} kept: ${leftOut}`));
    if (!this.detail.request) elements.push(note(UNREAD));
    if (instructions) elements.push(fold(["Instructions", `${count(String(instructions).length)} characters`], () => folded(instructions)));
    if (from) elements.push(fold([`${from} ${from === 1 ? "item that was" : "items that were"} there before`], () => dialogue(items.slice(0, from), { outputs, calls })));
    elements.push(...dialogue(items.slice(from), { outputs, calls }));
    const answer = document.createElement("div");
    answer.className = "answer-of-turn";
    answer.append(this.answerPlace);
    return [...elements, answer];
  }

  #ask({ model, error, prompt, body, raw, chunks, failed_tries: failed = [], outcome, started_ms: started, first_ms: first, ended_ms: ended }) {
    const times = [["began at", started], ["first data at", first], ["ended at", ended]];
    const words = [model, outcome, ...times.map(([what, at]) => (at === null || at === undefined ? "" : `${what} ${ms(at)}`))];
    return [
      note(words.filter(Boolean).join(" · ")),
      ...(error ? [fold(["Error"], () => folded(error), { open: true })] : []),
      ...(prompt ? [fold(["Prompt, in no dialect"], () => folded(prompt))] : []),
      fold([chunks && raw ? "Body that litellm was given" : "Upstream body"], () => folded(body), { open: true }),
      ...failed.flatMap((each, index) => [
        note(`Try ${index + 1} failed: ${each.status ? `HTTP ${each.status}` : (each.failed ?? "refused").replaceAll("_", " ")}`),
        ...(each.raw ? [came(`What came back after try ${index + 1}`, each.raw)] : []),
      ]),
      raw ? came("Upstream bytes, as they came", raw) : note(chunks ? NO_BYTES : NOTHING_CAME),
      ...(chunks ? [came("Chunks that AM Proxy read", chunks)] : []),
    ];
  }

  #response() {
    const { refused, response, fields } = this.detail;
    return refused ? { error: refused.error } : (response ?? fields);
  }

  #one(selector) {
    return this.element.querySelector(selector);
  }
}

/** What an upstream sent. */
function came(title, { text, bytes: all, left_out: leftOut }) {
  return fold([title, bytes(all), leftOut ? `${bytes(leftOut)} not kept` : ""], () => folded(text));
}

/** How fast the answer came, if it came in pieces. */
function speedOf({ tokens, first_ms: first, total_ms: total }) {
  const took = (total ?? 0) - (first ?? total ?? 0);
  return tokens?.output > 1 && took >= 100 ? `${count(Math.round((1000 * tokens.output) / took))} tokens/s` : "";
}

function scrolled(elements, name, kind = "scrolled") {
  const place = Object.assign(document.createElement("div"), { className: kind, tabIndex: 0 });
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", name);
  place.append(...elements);
  return place;
}

function note(text) {
  return Object.assign(document.createElement("p"), { className: "notes", textContent: text });
}
