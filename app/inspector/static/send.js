// Requests that are sent from here: the form, a turn once more beside the original, and both as curl.

import { get, hasKey, send } from "./api.js";
import { copy, fold, h, note } from "./dom.js";
import { turnView } from "./turn.js";

const FIELDS = ["model", "instructions", "input", "effort", "limit", "tools", "stream"];
const PAUSE = 80; // milliseconds between two drawings of an answer that grows
const LEFT_OUT = /… \(\d+ characters|"…"/; // what the server writes in place of what it does not show
const TOOLS = '[{"type": "function", "name": "get_weather", "parameters": {}}]';
const NOT_KEPT = "Parts of this request are not kept, such as keys and images: write over «…» what you want to send.";
const EFFORTS = ["", "none", "minimal", "low", "medium", "high", "xhigh"];

/** Sends a body, and draws what comes into `place`; resolves with the detail. */
async function run(body, place, signal, options, before = {}) {
  let view = null;
  let due = null;
  const draw = (detail) => {
    due = null;
    const all = { ...before, ...detail };
    if (view) view.show(all);
    else place.append((view = turnView(all, options)).element);
  };
  const changed = (detail) => (view ? (due ??= setTimeout(() => draw(detail), PAUSE)) : draw(detail));
  const detail = await send(body, changed, signal);
  clearTimeout(due);
  draw(detail);
  return { detail, view };
}

const quoted = (words) => `'${words.replaceAll("'", "'\\''")}'`;

/** The request as a command. */
export function curl(body) {
  const lines = [`curl -N ${location.origin}/v1/responses`, "-H 'Content-Type: application/json'"];
  if (hasKey()) lines.push('-H "Authorization: Bearer $AM_KEY"');
  return `${[...lines, `-d ${quoted(JSON.stringify(body, null, 2))}`].join(" \\\n  ")}\n`;
}

/** The page of a new request. `sent(id)` resolves with all about the turn of this id, if the server keeps it. */
export function form(about, sent) {
  let stopping = null;
  const models = h("datalist", { id: "models" });
  const efforts = EFFORTS.map((each) => new Option(each || "default", each));
  const area = (name, rows, more = {}) => h("textarea", { name, rows, spellcheck: false, ...more });
  const answer = h("div", { id: "answer" });
  const stop = h("button", { type: "button", id: "stop", disabled: true, onclick: () => stopping?.abort() }, "Stop");
  const element = h("form", { id: "ask", autocomplete: "off", noValidate: true },
    h("label", {}, "Model ", h("input", { name: "model", spellcheck: false, list: "models" })), models,
    h("label", {}, "Input ", area("input", 3, { required: true, value: "Hello!" })),
    fold(["More: instructions, tools, limits"], () => [
      h("label", {}, "Instructions ", area("instructions", 2)),
      h("div", { className: "row" },
        h("label", {}, "Reasoning effort ", h("select", { name: "effort" }, ...efforts)),
        h("label", {}, "Max output tokens ",
          h("input", { name: "limit", type: "number", min: 1, placeholder: "no limit" }))),
      h("label", {}, "Tools (a JSON array) ", area("tools", 4, { placeholder: TOOLS })),
      h("label", { className: "check" }, h("input", { name: "stream", type: "checkbox", checked: true }), " stream"),
    ], { open: true, kind: "more" }),
    h("div", { className: "row" },
      h("button", { id: "send", className: "primary" }, "Send"), stop,
      h("button", { type: "button", onclick: (event) => body() && copy(curl(body()), event.target) }, "Copy as curl")));
  const { elements } = element;
  const kept = JSON.parse(sessionStorage.getItem("form") ?? "{}");
  for (const name of FIELDS) if (name in kept) elements[name][name === "stream" ? "checked" : "value"] = kept[name];
  element.querySelector("details").open = Boolean(kept.instructions || kept.tools);

  function body() {
    const value = (name) => elements[name].value.trim();
    elements.tools.setCustomValidity("");
    try {
      const tools = value("tools") ? JSON.parse(value("tools")) : undefined;
      if (tools !== undefined && !Array.isArray(tools)) throw new Error("not an array");
      if (!element.reportValidity()) return null;
      return {
        model: value("model"), input: elements.input.value, instructions: value("instructions") || undefined,
        reasoning: value("effort") ? { effort: value("effort"), summary: "auto" } : undefined,
        max_output_tokens: value("limit") ? Number(value("limit")) : undefined,
        tools, stream: elements.stream.checked, store: false,
      };
    } catch (error) {
      element.querySelector("details").open = true;
      elements.tools.setCustomValidity(`No JSON array: ${error.message}`);
      element.reportValidity();
      return null;
    }
  }

  element.addEventListener("input", () => {
    const values = FIELDS.map((name) => [name, name === "stream" ? elements[name].checked : elements[name].value]);
    sessionStorage.setItem("form", JSON.stringify(Object.fromEntries(values)));
  });
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = body();
    if (!asked) return;
    stopping?.abort();
    const mine = (stopping = new AbortController());
    stop.disabled = false;
    answer.replaceChildren();
    if (matchMedia("(max-width: 760px)").matches) answer.scrollIntoView(); // it is below the form
    const { detail, view } = await run(asked, answer, mine.signal);
    if (stopping !== mine) return;
    stop.disabled = true;
    const all = await sent(detail.row.request_id);
    if (all && stopping === mine) view.show({ ...all, warnings: detail.warnings });
  });
  get("/v1/models").then(({ data }) => {
    models.replaceChildren(...data.map(({ id }) => new Option(id, id)));
    if (!elements.model.value) elements.model.value = data[0]?.id ?? "";
  }).catch(() => {}); // what is wrong is said when a request is sent
  return [h("div", { className: "home" }, ...words(about)), element, answer];
}

/** What this is, for who sees it for the first time. */
function words({ upstreams = [], key }) {
  const base = `${location.origin}/v1`;
  const behind = upstreams.map(({ name, via, provider, address }) => {
    if (via === "demo") return "the model demo, a script within AM Proxy that needs no key and no network";
    const where = [provider === name ? "" : provider, address].filter(Boolean).join(", ");
    return name === "upstream" || !where ? where || provider || via : `${name} (${where})`;
  });
  return [
    h("p", {}, "AM Proxy gives any model the OpenAI Responses API. Base URL for Codex, SDKs and curl: ",
      h("code", {}, base), " ",
      h("button", { type: "button", onclick: (event) => copy(base, event.target) }, "Copy")),
    ...(behind.length ? [note(`Behind it: ${behind.join("; ")}.`)] : []),
    ...(key === "needed" && !hasKey() ? [note("This server needs a key. Enter yours above: you see your own turns.")] : []),
    ...(key === "possible" ? [
      note("Models that need your own key for their upstream get it from the field above."),
    ] : []),
  ];
}

/** The tab in which a turn is run again, perhaps with another model, beside the original. */
export function again(detail) {
  const { type, ...request } = typeof detail.request === "object" ? detail.request ?? {} : {};
  const sealed = (item) => item?.type === "reasoning" && /sealed\)$/.test(item.encrypted_content ?? "");
  if (Array.isArray(request.input)) {
    request.input = request.input.filter((item) => !sealed(item) || item.summary?.length)
      .map((item) => (sealed(item) ? { ...item, encrypted_content: undefined } : item));
  }
  const value = JSON.stringify(request, null, 2);
  const field = h("textarea", { rows: 8, spellcheck: false, value, "aria-label": "Request (JSON)" });
  const model = h("input", { value: request.model ?? "", spellcheck: false, "aria-label": "Model" });
  const runs = h("div", { className: "pair runs" });
  let stopping = null;

  function body() {
    try {
      field.setCustomValidity("");
      return { ...JSON.parse(field.value), model: model.value, stream: true };
    } catch (error) {
      field.setCustomValidity(`No JSON: ${error.message}`);
      field.reportValidity();
      return null;
    }
  }

  const element = h("form", { className: "again", autocomplete: "off" },
    h("div", { className: "row" }, h("label", {}, "Model ", model), h("button", { className: "primary" }, "Send again"),
      h("button", { type: "button", onclick: (event) => body() && copy(curl(body()), event.target) }, "Copy as curl")),
    ...(LEFT_OUT.test(value) ? [note(NOT_KEPT, "warning")] : []),
    field, runs);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = body();
    if (!asked) return;
    stopping?.abort();
    stopping = new AbortController();
    const place = h("div");
    runs.replaceChildren(turnView(detail, { title: `${detail.row.model || "no model"} · before` }).element, place);
    const { changes } = detail; // what was there before is folded here, too
    run(asked, place, stopping.signal, { title: `${asked.model} · now` }, { changes });
  });
  return element;
}
