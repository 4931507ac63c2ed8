// One turn on the page: sent from here, or seen passing.

import { Answer } from "./answer.js";
import { tabs, unique } from "./controls.js";
import { folded } from "./folded.js";
import { following } from "./following.js";
import { ms } from "./format.js";
import { eventsOf } from "./sse.js";
import { Timeline } from "./timeline.js";

const LAST = new Set(["response.completed", "response.incomplete", "response.failed"]);

export class Run {
  /** `live`: it is shown as it happens, and what is new is scrolled into sight. */
  constructor(title, { live = true } = {}) {
    this.element = document.getElementById("run").content.firstElementChild.cloneNode(true);
    this.element.querySelector("h2").textContent = title;
    this.element.classList.add("silent"); // until there is an event
    const follow = live ? following : () => () => {};
    this.answer = new Answer(this.#one(".answer"), follow);
    this.timeline = new Timeline(this.#one('.pane[data-pane="events"]'), { live });
    this.stopping = new AbortController();
    this.first = null;
    this.needsKey = false;
    this.#link();
    this.showTab = tabs(this.#one(".tabs"), this.element);
    this.#one(".expand").addEventListener("click", () => this.#expand());
    new ResizeObserver(() => this.#measure()).observe(this.answer.items);
  }

  /** Send `body`, and show what comes back. */
  async send(body, headers) {
    this.began = performance.now();
    this.#state("waiting");
    try {
      const answer = await fetch("/v1/responses", {
        method: "POST", headers, body: JSON.stringify(body), signal: this.stopping.signal,
      });
      this.warn(JSON.parse(answer.headers.get("x-am-warnings") ?? "[]"));
      if (!answer.ok) return await this.#refused(answer);
      if (body.stream) {
        for await (const { data } of eventsOf(answer)) {
          if (data !== "[DONE]") this.take(JSON.parse(data), performance.now());
        }
        if (!this.over) this.#state("cut off");
      } else {
        const response = await answer.json();
        this.answer.whole(response);
        this.#finished(response);
        this.#show("whole");
      }
    } catch (error) {
      this.#state(error.name === "AbortError" ? "stopped" : `failed: ${error.message}`);
    } finally {
      this.timeline.end();
    }
  }

  /** One event, whenever it came. */
  take(event, at) {
    this.began ??= at;
    this.element.classList.remove("silent");
    this.timeline.take(event, at);
    this.answer.take(event);
    if (typeof event.delta === "string" && event.delta && this.first === null) {
      this.first = at - this.began;
    }
    if (LAST.has(event.type)) {
      this.over = true;
      this.took = at - this.began;
      this.timeline.end();
      this.#finished(event.response);
    } else {
      this.#state("streaming");
    }
  }

  /** What the upstream is asked: the server translates the same request once more, and sends nothing. */
  async preview(body, headers) {
    try {
      const answer = await fetch("/inspector/ask", { method: "POST", headers, body: JSON.stringify(body) });
      const shown = await answer.json();
      this.asked(answer.ok ? shown.ask : shown);
      if (answer.ok) this.warn(shown.warnings);
    } catch (error) {
      this.asked(`The server did not say: ${error.message}`);
    }
  }

  /** What an upstream was or would be sent. */
  asked(value) {
    this.#one('[data-pane="asked"] .json').replaceChildren(...folded(value));
  }

  warn(warnings) {
    const place = this.#one(".warnings");
    place.append(...warnings.filter((warning) => !place.textContent.includes(warning)).map((warning) => Object.assign(document.createElement("p"), { textContent: warning })));
    place.hidden = !place.childElementCount;
  }

  /** The problem that the client got instead of an answer. */
  refuse(status, error) {
    this.over = true;
    this.needsKey = status === 401;
    this.#state(`${status} ${error.code ?? ""}`);
    this.#one('[data-pane="whole"] pre').textContent = JSON.stringify({ error }, null, 2);
    this.answer.refused(error);
    this.#show("whole");
  }

  /** How it ended, as the server's log says: not every turn comes to a last event. */
  ended(fields) {
    if (this.over) return;
    this.#state(fields.finish);
    this.#one(".figures").textContent = `total ${ms(fields.duration_ms)}`;
    this.#one('[data-pane="whole"] pre').textContent = JSON.stringify(fields, null, 2);
  }

  stop() {
    this.stopping.abort();
  }

  async #refused(answer) {
    const text = await answer.text();
    let error;
    try {
      error = JSON.parse(text).error;
    } catch {
      error = { message: text };
    }
    this.refuse(answer.status, error ?? { message: text });
  }

  #finished(response) {
    this.#state(response.status);
    this.#one('[data-pane="whole"] pre').textContent = JSON.stringify(response, null, 2);
    const { usage } = response;
    this.took ??= performance.now() - this.began;
    const figures = [
      this.first === null ? "" : `first token ${ms(this.first)}`,
      `total ${ms(this.took)}`,
      usage ? `${usage.input_tokens} → ${usage.output_tokens} tokens` : "",
      usage?.output_tokens_details?.reasoning_tokens ? `${usage.output_tokens_details.reasoning_tokens} reasoning` : "",
      usage?.estimated ? "estimated" : "",
    ];
    this.#one(".figures").textContent = figures.filter(Boolean).join(" · ");
  }

  #state(text) {
    const place = this.#one(".status");
    if (place.textContent === text) return; // or a screen reader says it again
    place.textContent = text;
    place.dataset.state = text.split(/[ :]/)[0];
  }

  /** Give tabs and panels the ids that connect them. */
  #link() {
    for (const tab of this.element.querySelectorAll("[role=tab]")) {
      const panel = this.#one(`.pane[data-pane="${tab.dataset.pane}"]`);
      tab.id = unique("tab");
      panel.id = unique("panel");
      tab.setAttribute("aria-controls", panel.id);
      panel.setAttribute("aria-labelledby", tab.id);
    }
  }

  #show(pane) {
    this.showTab(this.#one(`[role=tab][data-pane="${pane}"]`));
  }

  #measure() {
    const place = this.#one(".answer");
    const expanded = this.element.classList.contains("expanded");
    this.#one(".expand").hidden = !expanded && place.scrollHeight <= place.clientHeight + 1;
  }

  #expand() {
    const expanded = this.element.classList.toggle("expanded");
    this.#one(".expand").setAttribute("aria-expanded", String(expanded));
    this.#one(".expand").textContent = expanded ? "Show less" : "Show the whole answer";
    this.#measure();
  }

  #one(selector) {
    return this.element.querySelector(selector);
  }
}
