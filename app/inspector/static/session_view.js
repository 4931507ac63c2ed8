// A conversation: a table of its turns, and what was new in each of them.

import { firstWords, isCall, isOutput } from "./blocks.js";
import { totalsOf } from "./conversations.js";
import { byCall, dialogue, objectsOf } from "./dialogue.js";
import { fold, folded } from "./folded.js";
import { count, money, ms } from "./format.js";
import { PREPARED, calledBy, outcomeOf } from "./rows.js";

const NEAR = "800px"; // what is so close to being seen is made

const UNSEEN = new Set(["client_metadata", "generate", "metadata"]); // settings that no model sees
const AROUND = 15; // turns before and after one that is revealed: as many as fit into that

export class SessionView {
  /** `open(number)` shows a turn. */
  constructor(session, { open }) {
    this.open = open;
    this.sections = new Map();
    this.lines = new Map();
    this.element = document.getElementById("session").content.firstElementChild.cloneNode(true);
    this.place = this.element.querySelector(".turns-of-session");
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#fill(target);
    }, { root: null, rootMargin: NEAR });
    this.show(session);
  }

  /** Show this state of the conversation; what has not changed stays as it is. */
  show({ session, turns: given }) {
    const turns = given.map((turn, index) => ({ ...turn, before: given[index - 1]?.row, new: objectsOf(turn.new), output: objectsOf(turn.output) }));
    this.turns = turns;
    const rows = turns.map(({ row }) => row);
    const total = totalsOf(rows);
    this.outputs = byCall(turns.flatMap((turn) => turn.new), isOutput);
    this.calls = byCall(turns.flatMap((turn) => [...turn.new, ...turn.output]), isCall);
    const sent = turns.toReversed().flatMap((turn) => turn.new.filter(isOutput).map((item) => [item.call_id, turn.row]));
    this.sender = new Map(sent); // the first that sent it counts
    this.element.querySelector("h2").textContent = `Conversation ${session}`;
    this.element.querySelector(".figures").textContent = [
      `${count(turns.length)} ${turns.length === 1 ? "turn" : "turns"}`,
      `${count(total.input)} tokens in`, total.input ? `${Math.floor((100 * total.cached) / total.input)} % cached` : "",
      `${count(total.output)} out`, `${ms(total.ms)} in turns`, rows.length > 1 ? `${ms(between(rows))} between them` : "", total.cost ? `${money(total.cost)} estimated` : "",
    ].filter(Boolean).join(" · ");
    this.#table(turns);
    this.#lay(turns);
  }

  stop() {
    this.seen.disconnect();
  }

  /** The rows of the table; those that have not changed stay, and with them the focus. */
  #table(turns) {
    const rows = turns.map(({ row }) => row);
    const body = this.element.querySelector("tbody");
    const most = { total: mostOf(rows, ({ total_ms: total }) => total), cost: mostOf(rows, ({ cost }) => cost?.amount) };
    const lines = turns.map(({ row, before, output }) => {
      const called = calledIn(output, row);
      const version = JSON.stringify([row, called, before?.tokens, most]);
      const old = this.lines.get(row.number);
      if (old?.version === version) return old;
      const line = Object.assign(lineOf(row, before, called, most), { version });
      line.querySelector("button").addEventListener("click", () => this.#reveal(row.number));
      if (old) old.replaceWith(line);
      this.lines.set(row.number, line);
      return line;
    });
    for (const [number, line] of this.lines) {
      if (lines.includes(line)) continue;
      line.remove();
      this.lines.delete(number);
    }
    lines.forEach((line, index) => body.children[index] === line || body.insertBefore(line, body.children[index] ?? null));
  }

  /** Scroll to what was said in a turn. */
  #reveal(number) {
    const section = this.sections.get(number);
    const all = [...this.place.children];
    const here = all.indexOf(section);
    for (const near of all.slice(Math.max(here - AROUND, 0), here + AROUND)) this.#fill(near); // or it would move away
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  }

  #lay(turns) {
    const kept = new Set(turns.map(({ row }) => row.number));
    for (const [number, section] of this.sections) {
      if (kept.has(number)) continue;
      section.remove();
      this.sections.delete(number);
    }
    for (const turn of turns) {
      const version = JSON.stringify([turn.row, turn.new.length, turn.output.length, this.#answeredCalls(turn)]);
      const old = this.sections.get(turn.row.number);
      if (old?.version === version) continue;
      const section = document.createElement("section");
      section.className = "turn-of-session";
      section.setAttribute("aria-label", `Turn of ${turn.row.when}`);
      section.tabIndex = -1; // the table leads to it
      Object.assign(section, { version, turn });
      if (old) old.replaceWith(section);
      else this.place.append(section);
      this.sections.set(turn.row.number, section);
      this.seen.observe(section);
    }
  }

  #answeredCalls(turn) {
    return turn.output.filter((item) => isCall(item) && this.outputs.has(item.call_id)).length;
  }

  #fill(section) {
    this.seen.unobserve(section);
    if (section.childElementCount) return;
    const { turn } = section;
    const fresh = turn.new;
    const output = turn.output;
    const own = byCall(output, isCall);
    const here = byCall(fresh, isCall);
    const earlier = fresh.filter((item) => isOutput(item) && this.calls.has(item.call_id) && !here.has(item.call_id) && !own.has(item.call_id));
    const said = fresh.filter((item) => !earlier.includes(item));
    section.append(
      this.#title(turn.row, turn.before),
      ...(turn.instructions ? [fold(["Instructions", `${count(turn.instructions.length)} characters`], () => folded(turn.instructions))] : []),
      ...notes(turn.changes),
      ...(earlier.length ? [note(`${earlier.length} ${earlier.length === 1 ? "output of a call" : "outputs of calls"}, shown next to ${earlier.length === 1 ? "its call" : "their calls"}`)] : []),
      ...dialogue(said),
      ...(turn.row.problem ? [Object.assign(document.createElement("p"), { className: "note failed", textContent: turn.row.problem })] : []),
      ...dialogue(output, { outputs: this.outputs, calls: own, note: (item) => this.#sentWith(item) }),
      ...(turn.row.prepared ? [note(`${PREPARED}.`)] : []),
      ...(turn.row.state === "running" ? [note("This turn is running.")] : []),
    );
  }

  #sentWith(item) {
    const row = this.sender.get(item.call_id);
    return row ? `sent at ${row.when}` : "";
  }

  #title(row, before) {
    const title = document.createElement("h3");
    const link = Object.assign(document.createElement("a"), { href: `#turn/${row.number}`, textContent: row.when });
    const { tokens } = row;
    const words = [
      outcomeOf(row),
      tokens ? `${count(tokens.input)} → ${count(tokens.output)} tokens${tokens.cached ? `, ${count(tokens.cached)} cached` : ""}` : "",
      row.total_ms === null ? "" : ms(row.total_ms), money(row.cost), before ? `${ms(gapBefore(row, before))} after the turn before` : "",
    ].filter(Boolean);
    title.append(link, ` · ${words.join(" · ")}`);
    return title;
  }
}

/** A row of the table. What a cache no longer had, and which turn was the longest and the dearest, can be seen. */
function lineOf(row, before, called, most) {
  const line = document.createElement("tr");
  line.dataset.finish = row.state === "running" ? "running" : row.finish;
  const words = row.prepared ? PREPARED : called || row.answered || row.said || row.problem || "…";
  const { tokens } = row;
  line.append(
    cell(Object.assign(document.createElement("a"), { href: `#turn/${row.number}`, textContent: row.when })),
    cell(Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: words, title: "Show what was said" }), "words"),
    cell(tokens ? count(tokens.input) : ""),
    cell(tokens ? cachedIn(tokens, before) : "", isLost(tokens, before) ? "lost" : ""),
    cell(tokens ? count(tokens.output) : ""),
    cell(ms(row.first_ms)),
    cell(ms(row.total_ms), row.number === most.total ? "most" : ""),
    cell(outcomeOf(row), "finish"),
    cell(money(row.cost), row.number === most.cost ? "most" : ""),
  );
  return line;
}

/** The tools that were called; of a single call also the beginning of what it was given. */
function calledIn(output, row) {
  const calls = output.filter(isCall);
  const given = calls.length === 1 ? firstWords(calls[0]) : "";
  return `${calledBy(row)} ${given}`.trim();
}

function cell(content, name = "") {
  const element = document.createElement("td");
  element.className = name;
  if (name === "most") element.title = "The most of this conversation";
  element.append(content);
  return element;
}

function cachedIn(tokens, before) {
  if (!tokens.input) return "";
  const share = `${count(tokens.cached)} (${Math.floor((100 * tokens.cached) / tokens.input)} %)`;
  return isLost(tokens, before) ? `${share}, was ${count(before.tokens.cached)}` : share;
}

/** Whether a cache that was read in the turn before could hardly be used. */
function isLost(tokens, before) {
  return Boolean(tokens && before?.tokens && tokens.cached < before.tokens.cached / 2);
}

/** The number of the turn with the most of something, if there is more than one turn. */
function mostOf(rows, valueOf) {
  const known = rows.filter((row) => valueOf(row) > 0);
  return known.length > 1 ? known.reduce((one, other) => (valueOf(other) > valueOf(one) ? other : one)).number : null;
}

/** Milliseconds between turns, in which the client ran its tools, or waited for its user. */
function between(rows) {
  return rows.slice(1).reduce((sum, row, index) => sum + gapBefore(row, rows[index]), 0);
}

function gapBefore(row, before) {
  return Math.max(1000 * (row.began - before.began) - (before.total_ms ?? 0), 0);
}

/** What else changed in a turn, where it is worth a line. */
function notes(changes) {
  if (!changes) return [];
  const { is_continued: continued, tools = {}, instructions } = changes;
  const settings = (changes.settings ?? []).filter((name) => !UNSEEN.has(name));
  const names = [...(tools.added ?? []).map((name) => `+ ${name}`), ...(tools.removed ?? []).map((name) => `− ${name}`), ...(tools.changed ?? []).map((name) => `${name} changed`)];
  return [
    continued ? "" : "The conversation before was changed, not only continued.",
    instructions && instructions !== "same" ? `Instructions ${instructions}.` : "",
    names.length ? `Tools: ${names.join(", ")}.` : "",
    settings.length ? `Settings changed: ${settings.join(", ")}.` : "",
  ].filter(Boolean).map(note);
}

function note(text) {
  return Object.assign(document.createElement("p"), { className: "notes", textContent: text });
}
