// The page: its views, what it sends, and its keyboard shortcuts.

import { tabs } from "./controls.js";
import { Form } from "./form.js";
import { goTo, placeOf } from "./route.js";
import { Run } from "./run.js";
import * as snippets from "./snippets.js";
import { Watch } from "./watch.js";

const $ = (id) => document.getElementById(id);

let running = null;
const form = new Form();
const watch = new Watch(() => form.headers());
const showView = tabs(document.querySelector("body > header .tabs"), document, (tab) => {
  const view = tab.id.replace("tab-", "");
  if (view !== "try") watch.listen();
  if (placeOf(location.hash).view !== view) goTo(view);
});

async function send() {
  const body = form.request({ complete: true });
  if (!body) return;
  stop();
  const mine = (running = new Run(body.model));
  $("runs").replaceChildren(mine.element);
  if (isNarrow()) $("runs").scrollIntoView(); // it is below the form
  $("stop").disabled = false;
  const headers = form.headers();
  await Promise.all([mine.send(body, headers), mine.preview(body, headers)]);
  if (running === mine) $("stop").disabled = true;
  if (mine.needsKey) form.listModels();
}

function stop() {
  running?.stop();
  $("stop").disabled = true;
}

function isNarrow() {
  return matchMedia("(max-width: 760px)").matches;
}

function show(view) {
  showView($(`tab-${view}`));
}

/** What the address names. */
function follow() {
  const { view, number, tab, filters } = placeOf(location.hash);
  if (filters !== null) watch.filterBy(filters);
  show(view);
  if (view === "watch" && number !== null) watch.openTurn(number, tab);
  if (view === "sessions" && number !== null) watch.openSession(number);
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

function otherTheme() {
  const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  paint(dark === "dark" ? "light" : "dark");
}

async function copy(language) {
  const body = form.request({ complete: false });
  if (!body) return;
  const text = snippets[language](body, { base: `${location.origin}/v1`, key: $("key").value });
  $("copied").dataset.text = text;
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = "copied";
  } catch {
    $("copied").textContent = "clipboard blocked"; // browsers let only safe origins write there
  }
  setTimeout(() => ($("copied").textContent = ""), 1500);
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("stop").addEventListener("click", stop);
$("key").addEventListener("change", () => {
  sessionStorage.setItem("key", $("key").value);
  form.listModels();
  watch.stop();
  follow();
});
$("theme").addEventListener("click", otherTheme);
$("help").addEventListener("click", () => $("keys").showModal());
$("single-keys").checked = localStorage.getItem("single-keys") !== "off";
$("single-keys").addEventListener("change", () => localStorage.setItem("single-keys", $("single-keys").checked ? "on" : "off"));
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));

document.addEventListener("keydown", (key) => {
  if ($("keys").open) return;
  if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) return $("view-try").hidden || $("ask").requestSubmit();
  if (key.key === "Escape" && !$("view-try").hidden) return stop();
  if (key.target.closest("input, textarea, select") || key.ctrlKey || key.metaKey || key.altKey) return;
  const act = {
    "/": () => ($("view-watch").hidden ? (show("try"), $("input").focus()) : $("filter").elements.text.focus()),
    "1": () => show("try"),
    "2": () => (show("watch"), $("turns").focus()),
    "3": () => (show("sessions"), $("sessions").focus()),
    t: otherTheme,
    "?": () => $("keys").showModal(),
  }[key.key];
  if (act && $("single-keys").checked) {
    key.preventDefault();
    act();
  }
});

if (localStorage.getItem("theme")) paint(localStorage.getItem("theme"));
form.listModels();
window.addEventListener("popstate", follow); // such as for a link of a conversation to one of its turns
if (location.hash) follow();
