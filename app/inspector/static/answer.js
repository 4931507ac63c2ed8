// The answer as it grows: one block for each output item, in their order.

import { emptyBlock, fill } from "./blocks.js";

export class Answer {
  /** `open`: thoughts are shown, not folded. */
  constructor(place, following, { open = true } = {}) {
    this.open = open;
    this.items = document.createElement("div");
    this.items.className = "items";
    place.append(this.items);
    this.blocks = new Map();
    this.grown = new Map(); // text that is not on the page yet
    this.follow = following(place);
  }

  take(event) {
    if (typeof event.delta === "string") this.#grow(event.output_index, event.delta);
    else this.#tell(event);
    this.follow();
  }

  /** The problem that a request gets instead of an answer. */
  refused(error) {
    this.#note("failed", `${error.code || "refused"}: ${error.message ?? ""}`);
  }

  /** A whole response, as `stream: false` gives it. */
  whole(response) {
    (response.output ?? []).forEach((item, seat) => this.#item(seat, item, true));
    if (response.error) this.#note("failed", `${response.error.code}: ${response.error.message}`);
  }

  #tell(event) {
    for (const [seat, item] of (event.response?.output ?? []).entries()) {
      if (item?.type === "image_generation_call") this.#item(seat, item, true); // its own event may have it without the image
    }
    if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
      this.#item(event.output_index, event.item ?? {}, event.type.endsWith("done"));
    } else if (event.type === "response.failed") {
      const error = event.response?.error ?? {};
      this.#note("failed", `${error.code ?? "failed"}: ${error.message ?? ""}`);
    } else if (event.type === "error") {
      this.refused(event.error ?? event);
    } else if (event.type === "response.incomplete") {
      this.#note("incomplete", `incomplete: ${event.response?.incomplete_details?.reason ?? ""}`);
    }
  }

  /** Deltas become text once for all that come until the page is painted. */
  #grow(seat, delta) {
    if (!this.grown.size) requestAnimationFrame(() => this.#draw());
    this.grown.set(seat, (this.grown.get(seat) ?? "") + delta);
  }

  #draw() {
    for (const [seat, grown] of this.grown) this.blocks.get(seat)?.growing?.appendData(grown);
    this.grown.clear();
    this.follow();
  }

  #item(seat, item, done) {
    let block = this.blocks.get(seat);
    if (!block) {
      block = emptyBlock(item, { open: this.open });
      block.growing = document.createTextNode("");
      const text = document.createElement("pre");
      text.append(block.growing);
      block.body.append(text);
      this.items.append(block.element);
      this.blocks.set(seat, block);
    }
    if (!done) return;
    this.grown.delete(seat);
    block.growing = null;
    block.element.dataset.status = item.status ?? "completed";
    fill(block.body, item);
  }

  #note(kind, text) {
    this.items.append(Object.assign(document.createElement("p"), { className: `note ${kind}`, textContent: text }));
  }
}
