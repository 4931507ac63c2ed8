// The answer as it grows: one block for each output item, in their order.

const KINDS = {
  message: "message",
  reasoning: "thought",
  function_call: "call",
  custom_tool_call: "call",
  image_generation_call: "image",
};

export class Answer {
  constructor(place, following) {
    this.items = document.createElement("div");
    this.items.className = "items";
    place.append(this.items);
    this.blocks = new Map();
    this.follow = following(place);
  }

  take(event) {
    this.#tell(event);
    this.follow();
  }

  /** The problem that a request gets instead of an answer. */
  refused(error) {
    this.#note("failed", `${error.code || "refused"}: ${error.message ?? ""}`);
  }

  #tell(event) {
    if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
      this.#item(event.output_index, event.item, event.type.endsWith("done"));
    } else if (typeof event.delta === "string" && event.delta) {
      this.blocks.get(event.output_index)?.text.append(event.delta);
    } else if (event.type === "response.failed") {
      const error = event.response?.error ?? {};
      this.#note("failed", `${error.code ?? "failed"}: ${error.message ?? ""}`);
    } else if (event.type === "error") {
      this.refused(event.error ?? event);
    } else if (event.type === "response.incomplete") {
      this.#note("incomplete", `incomplete: ${event.response?.incomplete_details?.reason ?? ""}`);
    }
  }

  /** A whole response, as `stream: false` gives it. */
  whole(response) {
    (response.output ?? []).forEach((item, seat) => this.#item(seat, item, true));
    if (response.error) this.#note("failed", `${response.error.code}: ${response.error.message}`);
  }

  #item(seat, item, done) {
    let block = this.blocks.get(seat);
    if (!block) {
      block = this.#block(item);
      this.blocks.set(seat, block);
    }
    if (!done) return;
    block.element.dataset.status = item.status ?? "completed";
    const said = textOf(item);
    if (said !== null) block.text.textContent = said;
    for (const part of item.content ?? []) this.#citations(block, part.annotations ?? []);
    if (item.type === "image_generation_call" && /^[\w+/=]+$/.test(item.result ?? "")) {
      const image = document.createElement("img");
      image.src = `data:image/${item.output_format ?? "png"};base64,${item.result}`;
      image.alt = "image made by the model";
      block.element.append(image);
    }
  }

  #block(item) {
    const kind = KINDS[item.type] ?? "call";
    const element = document.createElement(kind === "thought" ? "details" : "div");
    element.className = `item ${kind}`;
    const title = document.createElement(kind === "thought" ? "summary" : "h3");
    title.textContent = item.name ? `${item.type} · ${item.namespace ? `${item.namespace}.` : ""}${item.name}` : item.type;
    const text = document.createElement("pre");
    element.append(title, text);
    if (kind === "thought") element.open = true;
    this.items.append(element);
    return { element, text };
  }

  #citations(block, annotations) {
    for (const { url, title } of annotations) {
      if (!/^https?:/.test(url ?? "")) continue;
      const link = document.createElement("a");
      Object.assign(link, { href: url, textContent: title || url, rel: "noreferrer noopener", target: "_blank" });
      block.element.append(link);
    }
  }

  #note(kind, text) {
    const note = document.createElement("p");
    note.className = `note ${kind}`;
    note.textContent = text;
    this.items.append(note);
  }
}

/** The text of an item, whatever its type; null if it has none. */
function textOf(item) {
  if (item.type === "message") return item.content.map((part) => part.text ?? part.refusal ?? "").join("\n");
  if (item.type === "reasoning") {
    const said = [...(item.summary ?? []), ...(item.content ?? [])].map((part) => part.text).join("\n");
    return said || (item.encrypted_content ? "encrypted: only the upstream can read it" : "");
  }
  if (item.type === "image_generation_call") return /^[\w+/=]*$/.test(item.result ?? "") ? "" : item.result;
  if (typeof item.arguments === "string") return item.arguments;
  if (typeof item.input === "string") return item.input;
  return JSON.stringify(item.arguments ?? item.action ?? item.operation ?? {}, null, 2);
}
