// A turn once more: as it was, edited, or with another model, next to the original. And the turn as a program.

import { Run } from "./run.js";
import * as snippets from "./snippets.js";

const LEFT_OUT = /… \(\d+ (?:characters|bytes)|"\*\*\*"/; // what the server writes in place of what it does not show
const SEALED = /^… \(\d+ characters, sealed\)$/;
const PROGRAMS = { curl: "curl", python: "Python", javascript: "JavaScript" };

/** The elements of the tab. `detailNow()`: all about the turn, which may still run. */
export function again(detailNow, { headers }) {
  const detail = detailNow();
  const place = document.getElementById("again").content.firstElementChild.cloneNode(true);
  const field = place.querySelector("textarea");
  const model = place.querySelector("input");
  const said = place.querySelector("output");
  const runs = place.querySelector(".runs");
  const request = requestOf(detail.request);
  field.value = JSON.stringify(request, null, 2);
  model.value = request.model ?? detail.row.model ?? "";
  place.querySelector(".left-out").hidden = !LEFT_OUT.test(field.value);
  place.querySelector(".no-thoughts").hidden = !hasSealedThoughts(detail.request);
  model.addEventListener("change", () => {
    const body = read(field);
    if (body) field.value = JSON.stringify({ ...body, model: model.value }, null, 2);
  });
  field.addEventListener("input", () => field.setCustomValidity(""));
  place.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = read(field);
    if (!body) return;
    const run = new Run(`${body.model} · now`);
    runs.replaceChildren(original(detailNow()), run.element);
    place.querySelector(".stop").disabled = false;
    place.querySelector(".stop").onclick = () => run.stop();
    const again = { ...body, stream: true };
    await Promise.all([run.send(again, headers()), run.preview(again, headers())]);
    place.querySelector(".stop").disabled = true;
  });
  for (const [language, title] of Object.entries(PROGRAMS)) {
    place.querySelector(".exports").append(button(`Copy as ${title}`, async () => {
      const body = read(field);
      if (!body) return;
      const text = snippets[language]({ ...body, stream: true }, { base: `${location.origin}/v1`, key: headers().Authorization });
      said.dataset.text = text;
      try {
        await navigator.clipboard.writeText(text);
        said.textContent = "copied";
      } catch {
        said.textContent = "clipboard blocked"; // browsers let only safe origins write there
      }
    }));
  }
  return [place];
}

/** What can be sent over HTTP: a message of a websocket is a request with a type. */
function requestOf(request) {
  const { type, ...rest } = request ?? {};
  return withReadableThoughts(type === "response.create" || type === undefined ? rest : request);
}

/** Encrypted reasoning is not kept, so only what can be read of it is sent. */
function withReadableThoughts(request) {
  if (!hasSealedThoughts(request)) return request;
  const input = request.input.filter((item) => !isSealed(item) || item.summary?.length || item.content?.length);
  return { ...request, input: input.map((item) => (isSealed(item) ? { ...item, encrypted_content: undefined } : item)) };
}

function hasSealedThoughts(request) {
  return Array.isArray(request?.input) && request.input.some(isSealed);
}

function isSealed(item) {
  return item?.type === "reasoning" && SEALED.test(item.encrypted_content);
}

function original({ row, events, refused, fields, asks }) {
  const run = new Run(`${row.model} · original`, { live: false });
  run.began = 0;
  if (asks.length) run.asked(asks.at(-1).body);
  for (const { event, at } of events) run.take(event, at);
  if (refused) run.refuse(refused.status, refused.error ?? {});
  if (row.state !== "running") run.ended(fields);
  run.timeline.end();
  return run.element;
}

/** The request that is written in the field; null if it is none, which the browser then says. */
function read(field) {
  try {
    const body = JSON.parse(field.value);
    if (body && typeof body === "object" && !Array.isArray(body)) return body;
    field.setCustomValidity("Not a JSON object.");
  } catch (error) {
    field.setCustomValidity(`Not valid JSON: ${error.message}`);
  }
  field.reportValidity();
  return null;
}

function button(text, act) {
  const element = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  element.addEventListener("click", act);
  return element;
}
