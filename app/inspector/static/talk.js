// A conversation: a table of its turns, and what was new and what changed in each of them.

import { count, fold, folded, grid, h, money, ms, note } from "./dom.js";
import { byCall, dialogue, isCall, isOutput, itemsOf } from "./items.js";
import { isPrepared, outcomeOf, wordsOf } from "./turn.js";

const UNSEEN = new Set(["client_metadata", "generate", "metadata"]); // settings that no model sees

/** The element that shows these turns. */
export function talkView(number, turns) {
  const rows = turns.map(({ row }) => row);
  const total = (name) => rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
  const cost = total("cost_estimate");
  const outputs = byCall(turns.flatMap((turn) => itemsOf(turn.new)), isOutput);
  const calls = byCall(turns.flatMap((turn) => [...itemsOf(turn.new), ...itemsOf(turn.output)]), isCall);
  const figures = [`${rows.length} turns`, `${count(total("input_tokens"))} tokens in`,
    total("input_tokens") ? `${Math.floor((100 * total("cached_tokens")) / total("input_tokens"))} % cached` : "",
    `${count(total("output_tokens"))} out`, `${ms(total("duration_ms"))} in turns`,
    cost ? `${money(cost)} estimated` : ""];
  return h("div", { className: "turn talk-view" },
    h("header", {}, h("h2", {}, `Conversation ${number}`), h("span", { className: "grow" }),
      h("span", { className: "dim figures" }, figures.filter(Boolean).join(" · "))),
    table(turns),
    ...turns.map((turn, index) => section(turn, index, { outputs, calls })));
}

function table(turns) {
  const names = ["Turn", "Words or calls", "In", "Cached", "Out", "First token", "Total", "Outcome"];
  const lines = turns.map(({ row }, index) => {
    const { input_tokens: read, cached_tokens: cached = 0, output_tokens: written } = row;
    const words = row.calls.length ? `→ ${row.calls.join(", ")}` : row.answered || wordsOf(row);
    const lost = read !== undefined && cached < (turns[index - 1]?.row.cached_tokens ?? 0) / 2;
    const cells = [words, ...[read, cached || undefined, written].map((tokens) => (tokens === undefined ? "" : count(tokens))),
      ...[row.first_token_ms, row.duration_ms].map((time) => (time ? ms(time) : "")), outcomeOf(row)];
    if (lost && !cached) cells[2] = "lost";
    const classes = ["words", "", lost ? "lost" : "", "", "", "", "outcome"];
    const jump = h("a", { href: `#turn/${row.number}` }, String(index + 1));
    return h("tr", { data: { finish: row.finish } }, h("td", {}, jump),
      ...cells.map((cell, at) => h("td", { className: classes[at] }, cell)));
  });
  return h("div", { className: "table", tabIndex: 0, role: "group", "aria-label": "Turns of this conversation" },
    grid(names, lines));
}

function section({ row, new: news, output, instructions, changes }, index, known) {
  const isBeside = (item) => isOutput(item) && known.calls.has(item.call_id); // beside its call
  const said = itemsOf(news).filter((item) => !isBeside(item));
  const title = h("h3", {}, h("a", { href: `#turn/${row.number}` }, `Turn ${index + 1}`),
    ` · ${new Date(1000 * row.began).toLocaleTimeString()} · ${row.model || "no model"} · ${outcomeOf(row)}`);
  return h("section", { className: "part" }, title,
    folded("Instructions", instructions),
    ...notes(changes, row), ...dialogue(said, known), ...dialogue(itemsOf(output), known));
}

/** What changed since the turn before, where it is worth a line. */
function notes(changes, row) {
  if (!changes) return [];
  const { continues, instructions, tools, differs } = changes;
  const settings = changes.settings.filter((name) => !UNSEEN.has(name));
  const named = [...tools.added.map((name) => `+ ${name}`), ...tools.removed.map((name) => `− ${name}`),
    ...tools.changed.map((name) => `${name} changed`)];
  const lines = [
    continues || isPrepared(row) ? "" : "The conversation before was changed, not only continued.",
    instructions === "same" ? "" : `Instructions ${instructions}.`,
    named.length ? `Tools: ${named.join(", ")}.` : "",
    settings.length ? `Settings changed: ${settings.join(", ")}.` : "",
  ];
  return [...lines.filter(Boolean).map((words) => note(words)), ...(differs ? [difference(differs)] : [])];
}

/** Where what the model reads differs from the turn before: up to there its server's cache can be read. */
function difference({ at, of, same, before, now }) {
  if (same) return note("The upstream was asked the very same again.");
  if (at === of) return note(`Asked the same, ${count(of)} bytes, and what is new behind it.`);
  const line = (name, [head, tail]) => h("p", { className: "excerpt" }, `${name} `, head, h("mark", {}, tail));
  const words = `Asked the same up to byte ${count(at)} of ${count(of)}`;
  return fold([words], () => [line("before:", before), line("now:   ", now)]);
}
