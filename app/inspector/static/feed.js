// What the server keeps: the list of turns as it changes, all about one turn, and whole conversations.

import { eventsOf } from "./sse.js";

const AGAIN = 2000; // milliseconds until a lost connection is tried anew

export class Feed {
  /** `told`: functions for `row`, `forgotten`, `emptied`, `drawn` (what has come is complete for now), and `state`. */
  constructor(headers, told) {
    this.headers = headers;
    this.told = told;
  }

  /** Listen, for as long as the page is there. */
  async listen() {
    if (this.hearing) return;
    const hearing = (this.hearing = new AbortController());
    while (await this.#hear(hearing.signal).catch(() => true)) {
      if (hearing.signal.aborted) return;
      this.told.state("Connection lost. Reconnecting …");
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
    if (this.hearing === hearing) this.hearing = null;
  }

  /** Stop listening, such as for another key: it may see other turns. */
  stop() {
    this.hearing?.abort();
    this.hearing = null;
    this.told.emptied();
  }

  /** All about one turn; null if it is not kept. */
  turn(number) {
    return this.#json(`turns/${number}`);
  }

  /** A conversation, with what is new in each turn; null if it is not kept. */
  session(number) {
    return this.#json(`sessions/${number}`);
  }

  /** The numbers of the turns in which this text occurs. */
  async found(text, signal) {
    const answer = await this.#json(`found?text=${encodeURIComponent(text)}`, signal);
    return new Set(answer?.numbers ?? []);
  }

  /** Each note of a running turn: `{type, note}`. */
  async *live(number, signal) {
    const answer = await fetch(`/inspector/turns/${number}/live`, { headers: this.headers(), signal });
    if (!answer.ok) return;
    for await (const { type, data } of eventsOf(answer)) yield { type, note: JSON.parse(data) };
  }

  async #json(path, signal) {
    const answer = await fetch(`/inspector/${path}`, { headers: this.headers(), signal });
    if (answer.status === 404) return null;
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error?.message ?? `HTTP ${answer.status}`);
    return body;
  }

  /** Whether it is worth another try. */
  async #hear(signal) {
    const answer = await fetch("/inspector/rows", { headers: this.headers(), signal });
    if (!answer.ok) {
      const { error } = await answer.json();
      this.told.state(error.message);
      return false;
    }
    this.told.emptied(); // all that is kept is sent again
    let isReady = false;
    for await (const { type, data } of eventsOf(answer)) {
      const value = JSON.parse(data);
      if (type === "row") this.told.row(value);
      if (type === "forgotten") this.told.forgotten(value.number);
      if (type === "ready") {
        isReady = true;
        this.told.state("live");
      }
      if (isReady) this.told.drawn();
    }
    return true;
  }
}
