// The page: what is asked, by which key, of which models.

import { Run } from "./run.js";
import * as snippets from "./snippets.js";
import { Watch } from "./watch.js";

const $ = (id) => document.getElementById(id);
const TOOLS = [
  {
    type: "function",
    name: "get_weather",
    description: "The weather in a city now.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
];

let running = [];
const watch = new Watch(headers);

function headers() {
  const given = { "Content-Type": "application/json" };
  if ($("key").value) given.Authorization = `Bearer ${$("key").value}`;
  return given;
}

/** The request as it would be sent to this model. Throws where the tools are no JSON. */
function bodyFor(model) {
  const body = { model, input: $("input").value };
  if ($("instructions").value.trim()) body.instructions = $("instructions").value;
  if ($("effort").value) body.reasoning = { effort: $("effort").value, summary: "auto" };
  if ($("limit").value) body.max_output_tokens = Number($("limit").value);
  if ($("with-tools").checked) body.tools = JSON.parse($("tools").value);
  if ($("seal").checked) body.include = ["reasoning.encrypted_content"];
  if ($("stream").checked) body.stream = true;
  body.store = false;
  return body;
}

/** The same for several models; none where that cannot be, which the page then says. */
function bodiesFor(models) {
  try {
    const bodies = models.map(bodyFor);
    $("tools").setCustomValidity("");
    return bodies;
  } catch (error) {
    $("tools").setCustomValidity(`This is no JSON: ${error.message}`);
    $("tools").reportValidity();
    return [];
  }
}

async function send() {
  const bodies = bodiesFor([$("model").value, $("beside").value].filter(Boolean));
  if (!bodies.length) return;
  stop();
  running = bodies.map((body) => new Run(body.model));
  $("runs").replaceChildren(...running.map((run) => run.element));
  $("stop").disabled = false;
  const mine = running;
  await Promise.all(mine.map((run, index) => Promise.all([run.send(bodies[index], headers()), preview(run, bodies[index])])));
  if (running === mine) $("stop").disabled = true;
}

/** What the upstream is asked: the server translates the same request once more, and sends nothing. */
async function preview(run, body) {
  try {
    const answer = await fetch("/inspector/ask", { method: "POST", headers: headers(), body: JSON.stringify(body) });
    const shown = await answer.json();
    run.asked(answer.ok ? shown.ask : shown);
    if (answer.ok) run.warn(shown.warnings);
  } catch (error) {
    run.asked(`It could not be found out: ${error.message}`);
  }
}

function stop() {
  for (const run of running) run.stop();
  $("stop").disabled = true;
}

async function listModels() {
  const answer = await fetch("/v1/models", { headers: headers() });
  $("key").placeholder = answer.status === 401 ? "needed here" : "none needed";
  $("key").classList.toggle("needed", answer.status === 401);
  if (!answer.ok) return;
  const names = (await answer.json()).data.map((model) => model.id);
  for (const [place, first] of [["model", []], ["beside", [""]]]) {
    const chosen = $(place).value;
    $(place).replaceChildren(...[...first, ...names].map((name) => new Option(name || "—", name, false, name === chosen)));
  }
}

function show(view) {
  for (const name of ["try", "watch"]) {
    $(`view-${name}`).hidden = name !== view;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    $(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
  if (view === "watch") watch.listen();
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
  const [body] = bodiesFor([$("model").value]);
  if (!body) return;
  const text = snippets[language](body, { base: `${location.origin}/v1`, key: $("key").value });
  $("copied").dataset.text = text;
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = "copied";
  } catch {
    $("copied").textContent = "not allowed here"; // browsers let only safe origins write there
  }
  setTimeout(() => ($("copied").textContent = ""), 1500);
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("stop").addEventListener("click", stop);
$("with-tools").addEventListener("change", () => ($("tools-label").hidden = !$("with-tools").checked));
$("tools").addEventListener("input", () => $("tools").setCustomValidity(""));
$("key").addEventListener("change", () => {
  sessionStorage.setItem("key", $("key").value);
  listModels();
  watch.stop();
  if (!$("view-watch").hidden) watch.listen();
});
$("theme").addEventListener("click", otherTheme);
$("help").addEventListener("click", () => $("keys").showModal());
$("tab-try").addEventListener("click", () => show("try"));
$("tab-watch").addEventListener("click", () => show("watch"));
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));

document.addEventListener("keydown", (key) => {
  if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) return $("ask").requestSubmit();
  if (key.key === "Escape" && !$("keys").open) return stop();
  if (key.target.closest("input, textarea, select") || key.ctrlKey || key.metaKey || key.altKey) return;
  const act = {
    "/": () => (show("try"), $("input").focus()),
    "1": () => show("try"),
    "2": () => (show("watch"), $("turns").focus()),
    t: otherTheme,
    "?": () => $("keys").showModal(),
  }[key.key];
  if (act) {
    key.preventDefault();
    act();
  }
});
document.querySelector("nav[role=tablist]").addEventListener("keydown", (key) => {
  if (key.key !== "ArrowLeft" && key.key !== "ArrowRight") return;
  const other = $("tab-try").getAttribute("aria-selected") === "true" ? "watch" : "try";
  show(other);
  $(`tab-${other}`).focus();
});

$("tools").value = JSON.stringify(TOOLS, null, 2);
$("key").value = sessionStorage.getItem("key") ?? "";
if (localStorage.getItem("theme")) paint(localStorage.getItem("theme"));
listModels();
