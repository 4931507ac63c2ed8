// A conversation: a table of its turns, and what was new in each of them.

import { isCall, isOutput } from "./blocks.js";
import { totalsOf } from "./conversations.js";
import { byCall, dialogue, objectsOf } from "./dialogue.js";
import { fold, folded } from "./folded.js";
import { count, money, ms } from "./format.js";
import { calledBy, outcomeOf } from "./rows.js";

const NEAR = "800px"; // what is so close to being seen is made

export class SessionView {
  /** `open(number)` shows a turn. */
  constructor(session, { open }) {
    this.open = open;
    this.sections = new Map();
    this.element = document.getElementById("session").content.firstElementChild.cloneNode(true);
    this.place = this.element.querySelector(".turns-of-session");
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#fill(target);
    }, { root: null, rootMargin: NEAR });
    this.show(session);
  }

  /** Show this state of the conversation; what has not changed stays as it is. */
  show({ session, turns: given }) {
    const turns = given.map((turn) => ({ ...turn, new: objectsOf(turn.new), output: objectsOf(turn.output) }));
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
      `${count(total.output)} out`, ms(total.ms), total.cost ? `${money(total.cost)} estimated` : "",
    ].filter(Boolean).join(" · ");
    this.#table(rows);
    this.#lay(turns);
  }

  stop() {
    this.seen.disconnect();
  }

  #table(rows) {
    const body = this.element.querySelector("tbody");
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      line.dataset.finish = row.state === "running" ? "running" : row.finish;
      const link = Object.assign(document.createElement("a"), { href: `#turn/${row.number}`, textContent: row.when });
      const time = document.createElement("td");
      time.append(link);
      const { tokens } = row;
      const texts = [
        row.calls?.length ? calledBy(row) : row.answered || row.said || row.problem,
        tokens ? count(tokens.input) : "", tokens ? count(tokens.cached) : "", tokens ? count(tokens.output) : "",
        ms(row.first_ms), ms(row.total_ms), outcomeOf(row), money(row.cost),
      ];
      line.append(time, ...texts.map((text) => Object.assign(document.createElement("td"), { textContent: text ?? "" })));
      line.lastElementChild.previousElementSibling.className = "finish";
      line.children[1].className = "words";
      return line;
    }));
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
      this.#title(turn.row),
      ...(turn.instructions ? [fold(["Instructions", `${count(turn.instructions.length)} characters`], () => folded(turn.instructions))] : []),
      ...notes(turn.changes),
      ...(earlier.length ? [note(`${earlier.length} ${earlier.length === 1 ? "output of a call" : "outputs of calls"}, shown next to ${earlier.length === 1 ? "its call" : "their calls"}`)] : []),
      ...dialogue(said),
      ...(turn.row.problem ? [Object.assign(document.createElement("p"), { className: "note failed", textContent: turn.row.problem })] : []),
      ...dialogue(output, { outputs: this.outputs, calls: own, note: (item) => this.#sentWith(item) }),
      ...(turn.row.state === "running" ? [note("This turn is running.")] : []),
    );
  }

  #sentWith(item) {
    const row = this.sender.get(item.call_id);
    return row ? `sent at ${row.when}` : "";
  }

  #title(row) {
    const title = document.createElement("h3");
    const link = Object.assign(document.createElement("a"), { href: `#turn/${row.number}`, textContent: row.when });
    const { tokens } = row;
    const words = [
      outcomeOf(row),
      tokens ? `${count(tokens.input)} → ${count(tokens.output)} tokens${tokens.cached ? `, ${count(tokens.cached)} cached` : ""}` : "",
      row.total_ms === null ? "" : ms(row.total_ms), money(row.cost),
    ].filter(Boolean);
    title.append(link, ` · ${words.join(" · ")}`);
    return title;
  }
}

/** What else changed in a turn, where it is worth a line. */
function notes(changes) {
  if (!changes) return [];
  const { is_continued: continued, tools = {}, settings = [], instructions, cache } = changes;
  const names = [...(tools.added ?? []).map((name) => `+ ${name}`), ...(tools.removed ?? []).map((name) => `− ${name}`), ...(tools.changed ?? []).map((name) => `${name} changed`)];
  return [
    continued ? "" : "The conversation before was changed, not only continued.",
    instructions && instructions !== "same" ? `Instructions ${instructions}.` : "",
    names.length ? `Tools: ${names.join(", ")}.` : "",
    settings.length ? `Settings changed: ${settings.join(", ")}.` : "",
    cache?.words ? `Prompt cache: ${cache.words}.` : "",
  ].filter(Boolean).map(note);
}

function note(text) {
  return Object.assign(document.createElement("p"), { className: "notes", textContent: text });
}
