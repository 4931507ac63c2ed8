// The turns of the server, whoever sent them: the list of turns, the list of conversations, and what is chosen in them.

import { conversationRow, conversationsOf } from "./conversations.js";
import { Feed } from "./feed.js";
import { Filter } from "./filter.js";
import { filterBy, filtersAre, goTo } from "./route.js";
import { rowOf } from "./rows.js";
import { SessionView } from "./session_view.js";
import { TurnView } from "./turn_view.js";
import { Windowed } from "./windowed.js";

const REST = 60; // milliseconds that a row must be selected before it is asked for
const PAUSE = 600; // milliseconds between two looks at a conversation that goes on
const $ = (id) => document.getElementById(id);

export class Watch {
  constructor(headers) {
    this.headers = headers;
    this.turns = new Map(); // number -> {number, row}
    this.sessions = new Map(); // number -> {session, rows}
    this.shown = { number: null, view: null, tab: "" };
    this.session = { number: null, view: null };
    this.changed = new Set(); // entries whose rows have to be drawn again
    this.fresh = 0; // turns that came since somebody looked at the newest
    this.feed = new Feed(headers, {
      row: (row) => this.#row(row),
      forgotten: (number) => this.#forget(number),
      emptied: () => this.#empty(),
      drawn: () => this.#later(),
      state: (text) => this.#say(text),
    });
    this.list = new Windowed($("turns"), {
      make: ({ row }) => rowOf(row), chosen: ({ number }) => this.#rest(() => this.openTurn(number)),
      opened: ({ number }, { byKey } = {}) => byKey && this.#enter($("turns"), $("watched"), () => this.openTurn(number)),
    });
    this.conversations = new Windowed($("sessions"), {
      make: conversationRow, chosen: ({ session }) => this.#rest(() => this.openSession(session)),
      opened: ({ session }, { byKey } = {}) => byKey && this.#enter($("sessions"), $("conversation"), () => this.openSession(session)),
    });
    this.filter = new Filter($("filter"), {
      search: (text, signal) => this.feed.found(text, signal), changed: () => this.#draw(), chosen: filterBy, rows: () => [...this.turns.values()].map(({ row }) => row),
    });
    $("turns").addEventListener("scroll", () => this.list.atStart() && this.#seen(), { passive: true });
    $("newer").addEventListener("click", () => this.#toNewest());
  }

  listen() {
    this.feed.listen();
  }

  /** Filter the list as an address says. */
  filterBy(query) {
    filtersAre(query);
    this.filter.set(query);
  }

  /** Forget what this key could see. */
  stop() {
    this.feed.stop();
    this.#leave();
    $("watched").replaceChildren();
    $("conversation").replaceChildren();
  }

  /** Show a turn, in the tab of this name. */
  async openTurn(number, tab = this.shown.tab) {
    goTo(`turn/${number}${tab ? `/${tab}` : ""}`);
    if (this.shown.number === number && this.shown.view) return this.shown.view.choose(tab);
    this.shown.view?.stop();
    this.shown = { number, view: null, tab };
    const entry = this.turns.get(number);
    if (entry && this.list.selected !== entry) this.list.select(entry, { quiet: true });
    const detail = await this.feed.turn(number).catch((error) => ({ error }));
    if (this.shown.number !== number || this.shown.view) return; // another one was chosen meanwhile
    if (!detail || detail.error) return this.#notice($("watched"), detail ? detail.error.message : "This turn is not kept, or no longer.");
    this.#showTurn(detail, tab);
  }

  /** Show a conversation. */
  async openSession(number) {
    goTo(`session/${number}`);
    if (this.session.number === number && this.session.view) return;
    this.session.view?.stop();
    this.session = { number, view: null };
    const entry = this.sessions.get(number);
    if (entry && this.conversations.selected !== entry) this.conversations.select(entry, { quiet: true });
    await this.#lookAtSession();
  }

  async #lookAtSession() {
    const { number } = this.session;
    const found = await this.feed.session(number).catch((error) => ({ error }));
    if (this.session.number !== number) return;
    if (!found || found.error) return this.#notice($("conversation"), found ? found.error.message : "This conversation is not kept, or no longer.");
    if (this.session.view) return this.session.view.show(found);
    this.session.view = new SessionView(found, { open: (each) => this.openTurn(each) });
    $("conversation").replaceChildren(this.session.view.element);
    bring($("conversation"));
  }

  #showTurn(detail, tab) {
    const { number } = detail.row;
    this.shown.view = new TurnView(detail, {
      feed: this.feed, headers: this.headers, tab,
      open: (each) => this.openTurn(each),
      openSession: (each) => (location.hash = `#session/${each}`),
      tabShown: (name) => {
        this.shown.tab = name;
        if (location.hash.startsWith("#turn/")) goTo(`turn/${number}/${name}`);
      },
    });
    $("watched").replaceChildren(this.shown.view.element);
    bring($("watched"));
  }

  #leave() {
    this.shown.view?.stop();
    this.session.view?.stop();
    this.shown = { number: null, view: null, tab: "" };
    this.session = { number: null, view: null };
  }

  #row(row) {
    const old = this.turns.get(row.number);
    if (old) {
      old.row = row;
      this.changed.add(old);
    } else {
      this.turns.set(row.number, { number: row.number, row });
      this.fresh += 1;
    }
    if (row.state === "ended") this.filter.again();
    if (row.session !== null && row.session === this.session.number) this.#again();
  }

  #forget(number) {
    this.turns.delete(number);
  }

  #empty() {
    this.turns.clear();
    this.sessions.clear();
    this.changed.clear();
    this.fresh = 0;
    this.list.clear();
    this.conversations.clear();
  }

  #again() {
    if (this.looking) return;
    this.looking = setTimeout(() => {
      this.looking = null;
      if (this.session.number !== null) this.#lookAtSession();
    }, PAUSE);
  }

  #rest(act) {
    clearTimeout(this.resting);
    this.resting = setTimeout(act, REST);
  }

  /** Go from a list to what it shows, as soon as that is there. */
  async #enter(list, place, open) {
    clearTimeout(this.resting);
    await open();
    if (document.activeElement === list) place.querySelector("[tabindex='0']")?.focus();
  }

  #later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.#draw());
  }

  /** The rows as they are now. What somebody reads stays where it is. */
  #draw() {
    this.asked = false;
    const all = [...this.turns.values()].reverse();
    const passing = this.filter.isOn ? all.filter(({ row }) => this.filter.passes(row)) : all;
    const isRead = !this.list.atStart() || $("turns").matches(":hover") || (document.activeElement === $("turns") && this.list.selected);
    for (const entry of this.changed) this.list.touch(entry);
    this.list.show(passing, { anchored: isRead });
    const chosen = this.turns.get(this.shown.number);
    if (chosen && !this.list.selected && passing.includes(chosen)) this.list.select(chosen, { quiet: true });
    $("number").textContent = this.filter.isOn ? `${passing.length} of ${all.length}` : String(all.length || "");
    if (!isRead) this.fresh = 0;
    $("newer").hidden = !this.fresh || this.list.atStart();
    $("newer").textContent = `${this.fresh} new`;
    this.#drawConversations();
    this.changed.clear();
  }

  #drawConversations() {
    const found = conversationsOf([...this.turns.values()].map(({ row }) => row).filter((row) => row.session !== null && row.session !== undefined));
    const touched = new Set([...this.changed].map(({ row }) => row.session));
    const entries = found.map(({ session, rows }) => {
      const entry = this.sessions.get(session) ?? { session, rows: [] };
      if (entry.rows.length !== rows.length || touched.has(session)) this.conversations.touch(entry);
      this.sessions.set(session, Object.assign(entry, { rows }));
      return entry;
    });
    this.conversations.show(entries, { anchored: !this.conversations.atStart() });
    const chosen = this.sessions.get(this.session.number);
    if (chosen && !this.conversations.selected) this.conversations.select(chosen, { quiet: true });
  }

  #seen() {
    this.fresh = 0;
    $("newer").hidden = true;
  }

  #toNewest() {
    $("turns").scrollTop = 0;
    this.#seen();
    $("turns").focus();
  }

  #notice(place, text) {
    place.replaceChildren(Object.assign(document.createElement("p"), { className: "notice", textContent: text }));
    place.firstElementChild.setAttribute("role", "status");
  }

  #say(text) {
    for (const place of document.querySelectorAll(".feed-state")) place.textContent = text;
  }
}

/** On a phone, what was chosen is below the list. */
function bring(place) {
  if (matchMedia("(max-width: 760px)").matches) place.scrollIntoView();
}
