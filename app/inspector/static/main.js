// The page: what its address names, the key, the theme, and keyboard shortcuts.

import { feed, get, hasKey } from "./api.js";
import { h, note, redraw } from "./dom.js";
import { turnList } from "./list.js";
import { form } from "./send.js";
import { talkView } from "./talk.js";
import { turnView } from "./turn.js";

const AGAIN = 700; // milliseconds between two looks at a turn that runs
const $ = (id) => document.getElementById(id);

let about = {};
let listening = null;
let showing = new AbortController(); // what is shown now
let heard = () => {}; // what is shown hears of what is new in the list, too
let page = null; // the elements of a new request, which stay
const list = turnList($("turns"), $("filter"), (query) => goTo(location.hash.slice(1).split("?")[0], query));

/** Writes an address; the filters of the list belong to it. */
function goTo(path, query = location.hash.split("?")[1] ?? "") {
  history.replaceState(null, "", `#${path}${query ? `?${query}` : ""}`);
}

function showState(words, status) {
  const wanted = status === 401 && !hasKey();
  $("state").textContent = wanted ? "Enter a key of this server above to see your turns." : words;
  if (status === 401) list.empty();
}

function listen() {
  listening?.abort();
  listening = new AbortController();
  list.empty();
  feed((news) => (list.told(news), heard(news)), showState, listening.signal);
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** All about the turn of this request, if it is kept: it comes to the list a moment later. */
async function kept(id) {
  for (let tries = 0; tries < 10 && $("state").textContent === ""; tries += 1) {
    const row = list.byId(id);
    if (row) return get(`/inspector/turns/${row.number}`).catch(() => null);
    await pause(100);
  }
  return null;
}

function toConversation({ row }) {
  const { conversation } = list.row(row.number) ?? {};
  if (list.turnsOf(conversation) < 2) return null;
  return h("a", { className: "button", href: `#conversation/${conversation}` }, "Conversation");
}

async function showTurn(number, tab, signal) {
  let view = null;
  for (;;) {
    const detail = await get(`/inspector/turns/${number}`, signal);
    if (signal.aborted) return;
    if (view) view.show(detail);
    else {
      const shown = (name) => goTo(`turn/${number}/${name}`);
      view = turnView(detail, { tab, shown, links: [toConversation] });
      $("view").replaceChildren(view.element);
    }
    if (detail.row.state !== "running") return;
    await pause(AGAIN);
  }
}

/** Shows a conversation, and again whenever something in it changes. */
async function showTalk(number, signal) {
  const draw = async () => {
    const { turns } = await get(`/inspector/conversations/${number}`, signal);
    if (!signal.aborted) redraw($("view"), [talkView(number, turns)]);
  };
  heard = ({ rows }) => !signal.aborted && rows.some((row) => row.conversation === number) && draw().catch(() => {});
  await draw();
}

/** Shows what the address names. */
async function follow({ first = false } = {}) {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const [kind, number, tab] = path.split("/");
  showing.abort();
  showing = new AbortController();
  const { signal } = showing;
  if (first || query) list.filterBy(query);
  else goTo(path, list.query());
  list.choose(kind ? `#${kind}/${number}` : "#");
  try {
    if (kind === "turn") await showTurn(Number(number), tab, signal);
    else if (kind === "conversation") await showTalk(Number(number), signal);
    else $("view").replaceChildren(...(page ??= form(about, kept)));
  } catch (error) {
    if (!signal.aborted) $("view").replaceChildren(note(error.message, "notice"));
  }
  if (!first && matchMedia("(max-width: 760px)").matches) $("view").scrollIntoView();
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

function otherTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  paint((document.documentElement.dataset.theme ?? dark) === "dark" ? "light" : "dark");
}

const shortcuts = {
  "/": () => $("filter").elements.text.focus(),
  n: () => (location.hash = ""),
  j: () => list.step(1),
  k: () => list.step(-1),
  t: otherTheme,
  "?": () => $("keys").showModal(),
};

document.addEventListener("keydown", (key) => {
  if ($("keys").open) return;
  const field = key.target.closest("input:not([type=checkbox]), textarea, select");
  if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) (field?.form ?? $("ask"))?.requestSubmit();
  else if (key.key === "Escape" && field?.form === $("filter")) $("filter").reset();
  else if (key.key === "Escape") $("stop")?.click();
  else if (field || key.ctrlKey || key.metaKey || key.altKey) return;
  else if (/^Arrow(Up|Down)$/.test(key.key) && $("turns").contains(document.activeElement)) {
    list.step(key.key === "ArrowDown" ? 1 : -1);
    key.preventDefault();
  } else if (shortcuts[key.key] && $("single").checked) {
    shortcuts[key.key]();
    key.preventDefault();
  }
});

$("theme").addEventListener("click", otherTheme);
$("help").addEventListener("click", shortcuts["?"]);
$("single").checked = localStorage.getItem("single") !== "off";
$("single").addEventListener("change", () => localStorage.setItem("single", $("single").checked ? "on" : "off"));
$("key").value = sessionStorage.getItem("key") ?? "";
$("key").addEventListener("change", () => {
  sessionStorage.setItem("key", $("key").value);
  page = null; // it may use other models
  listen();
  follow();
});
window.addEventListener("hashchange", () => follow());
if (localStorage.getItem("theme")) paint(localStorage.getItem("theme"));
about = await get("/inspector/about");
$("version").textContent = about.version;
$("key-label").hidden = about.key === "none";
$("key").classList.toggle("needed", about.key === "needed");
listen();
follow({ first: true });
