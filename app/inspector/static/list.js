// The list of turns, newest first; turns of one conversation are together. And the filters of it.

import { get } from "./api.js";
import { count, h, money, ms } from "./dom.js";
import { outcomeOf, tokensOf, wordsOf } from "./turn.js";

const CHOICES = ["model", "finish", "call", "key"];
const FIELDS = ["text", "longer", ...CHOICES];
const AT_ONCE = 4; // turns of a conversation, unless it is opened
const EMPTY = "No turns yet. Whatever a client asks of this server appears here.";
const WAIT = 200; // milliseconds after the last letter

const valuesOf = {
  model: (row) => [row.model],
  finish: (row) => [row.state === "running" ? "running" : row.finish],
  call: (row) => row.calls,
  key: (row) => [row.key],
};

/** `changed(query)` hears of the filters, as in an address. */
export function turnList(place, filter, changed) {
  const rows = new Map();
  const opened = new Set();
  let found = null; // the numbers of the turns in which the server has found the text
  let chosen = "";
  let waiting = null;
  let looking = null;
  const value = (name) => filter.elements[name].value.trim();

  function passes(row) {
    const words = [row.request_id, row.model, row.said, row.answered, row.error, ...row.calls].join("\n").toLowerCase();
    if (value("text") && !found?.has(row.number) && !words.includes(value("text").toLowerCase())) return false;
    if (value("longer") && !(row.duration_ms >= 1000 * Number(value("longer")))) return false;
    return CHOICES.every((name) => !value(name) || valuesOf[name](row).includes(value(name)));
  }

  /** The rows of each conversation, newest first. */
  function groups() {
    const all = new Map();
    for (const row of [...rows.values()].filter(passes).sort((one, other) => other.number - one.number)) {
      all.set(row.conversation, [...(all.get(row.conversation) ?? []), row]);
    }
    return [...all.entries()];
  }

  function link(row) {
    const calls = row.calls.slice(0, 3).join(", ") + (row.calls.length > 3 ? " …" : "");
    const parts = [
      ["model", row.model || "no model"],
      ["outcome", outcomeOf(row)],
      ["said", wordsOf(row)],
      ["called", calls && `→ ${calls}`],
      ["dim", [new Date(1000 * row.began).toLocaleTimeString(),
        tokensOf(row), row.duration_ms && ms(row.duration_ms), money(row.cost_estimate),
        row.asks > 1 && `${row.asks} asks`, row.key !== "anyone" && row.key]
        .filter(Boolean).join(" · ")],
    ];
    const spans = parts.map(([name, text]) => (text ? h("span", { className: name }, text) : null));
    const finish = row.state === "running" ? "running" : row.finish;
    return h("li", {}, h("a", { href: `#turn/${row.number}`, className: "row-of-turn", data: { finish } }, ...spans));
  }

  function group([number, all]) {
    if (all.length === 1) return link(all[0]);
    const total = (name) => all.reduce((sum, row) => sum + (row[name] ?? 0), 0);
    const failed = all.filter((row) => row.finish === "failed" || row.finish === "refused").length;
    const tokens = `${count(total("input_tokens"))} → ${count(total("output_tokens"))}`;
    const words = [`Conversation of ${all.length} turns`, tokens, failed && `${failed} failed`];
    const some = opened.has(number) ? all : all.slice(0, AT_ONCE);
    const more = h("button", { type: "button", className: "plain", onclick: () => (opened.add(number), draw()) },
      `${all.length - some.length} more turns`);
    const title = h("a", { href: `#conversation/${number}` }, words.filter(Boolean).join(" · "));
    return h("li", { className: "talk" }, title,
      h("ul", {}, ...some.map(link), some.length < all.length ? h("li", {}, more) : null));
  }

  function draw() {
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const top = place.getBoundingClientRect().top;
    const seen = place.scrollTop ? links().find((each) => each.getBoundingClientRect().bottom > top) : null;
    const before = seen?.getBoundingClientRect().top;
    place.replaceChildren(...groups().map(group));
    const empty = h("li", { className: "dim empty" }, rows.size ? "No turn fits." : EMPTY);
    if (!place.childElementCount) place.append(empty);
    const now = seen && links().find((each) => each.getAttribute("href") === seen.getAttribute("href"));
    if (now) place.scrollTop += now.getBoundingClientRect().top - before; // what is read does not move
    mark();
    if (focused) links().find((each) => each.getAttribute("href") === focused)?.focus();
  }

  const links = () => [...place.querySelectorAll("a")];

  function mark() {
    for (const each of links()) {
      if (each.getAttribute("href") === chosen) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  }

  /** The values that occur. */
  function fill() {
    for (const name of CHOICES) {
      const select = filter.elements[name];
      const old = select.value;
      const values = [...new Set([...[...rows.values()].flatMap(valuesOf[name]), old])].filter(Boolean).sort();
      if (values.join("\n") === [...select.options].slice(1).map((each) => each.value).join("\n")) continue;
      select.replaceChildren(new Option("any", ""), ...values.map((each) => new Option(each, each)));
      select.value = old;
    }
  }

  async function look() {
    const text = value("text");
    looking?.abort();
    const mine = (looking = new AbortController());
    try {
      const path = `/inspector/found?text=${encodeURIComponent(text)}`;
      found = text ? new Set((await get(path, mine.signal)).numbers) : null;
    } catch {
      if (mine.signal.aborted) return; // a later one is on its way
      found = null; // the rows' own words count
    }
    draw();
  }

  /** The filters, as in an address. */
  function query() {
    return new URLSearchParams(FIELDS.map((name) => [name, value(name)]).filter((entry) => entry[1])).toString();
  }

  function entered() {
    changed(query());
    draw();
    clearTimeout(waiting);
    waiting = setTimeout(look, WAIT);
  }

  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("input", entered);
  filter.addEventListener("reset", () => setTimeout(entered));

  return {
    query,
    /** The rows that changed, and the numbers of all that are kept. */
    told({ rows: news, kept }) {
      for (const row of news) rows.set(row.number, row);
      const numbers = new Set(kept);
      for (const number of rows.keys()) if (!numbers.has(number)) rows.delete(number);
      fill();
      draw();
      if (value("text")) look();
    },
    empty() {
      rows.clear();
      draw();
    },
    choose(address) {
      chosen = address;
      mark();
    },
    /** The filters of an address. */
    filterBy(query) {
      const given = new URLSearchParams(query);
      for (const name of FIELDS) {
        const field = filter.elements[name];
        const next = given.get(name) ?? "";
        field.value = next;
        if (field.value !== next) field.append(new Option(next, next, true, true)); // no row has it now
        if (next && name !== "text") filter.querySelector("details").open = true;
      }
      if (value("text")) look();
      else draw();
    },
    /** Moves the focus by so many links. */
    step(by) {
      const all = links();
      const here = all.findIndex((each) => each === document.activeElement || each.getAttribute("href") === chosen);
      all[Math.min(Math.max(here + by, 0), all.length - 1)]?.focus();
    },
    row: (number) => rows.get(number),
    byId: (id) => [...rows.values()].find((row) => row.request_id === id && row.state === "ended"),
    turnsOf: (conversation) => [...rows.values()].filter((row) => row.conversation === conversation).length,
  };
}
