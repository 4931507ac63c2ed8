// The form: the request it describes, what is wrong with it, and what it remembers until the tab is closed.

const $ = (id) => document.getElementById(id);
const KEPT = ["model", "instructions", "input", "effort", "limit", "tools", "stream", "with-tools", "seal"];
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

export class Form {
  constructor() {
    this.filledIn = ""; // the model that the page has chosen itself
    this.needsKey = false;
    $("tools").value = JSON.stringify(TOOLS, null, 2);
    this.#restore();
    this.#showTools();
    $("with-tools").addEventListener("change", () => this.#showTools());
    $("tools").addEventListener("input", () => $("tools").setCustomValidity(""));
    $("key").addEventListener("input", () => $("key").setCustomValidity(""));
    $("ask").addEventListener("input", () => this.#keep());
    $("model").addEventListener("focus", () => {
      $("model").select();
      this.listModels(); // they may be others by now
    });
  }

  /** The headers of every request of the page. */
  headers() {
    const given = { "Content-Type": "application/json" };
    if ($("key").value) given.Authorization = `Bearer ${$("key").value}`;
    return given;
  }

  /** Fill the lists of models with those that this key may use. */
  async listModels() {
    const answer = await fetch("/v1/models", { headers: this.headers() }).catch(() => null);
    if (!answer) return; // the server is gone, which the next request will say
    this.needsKey = answer.status === 401;
    $("key").placeholder = this.needsKey ? "required" : "none needed";
    $("key").classList.toggle("needed", this.needsKey);
    if (!answer.ok) return;
    const names = (await answer.json()).data.map((model) => model.id);
    $("models").replaceChildren(...names.map((name) => new Option(name, name)));
    if ($("model").value !== this.filledIn || names.includes(this.filledIn)) return;
    $("model").value = this.filledIn = names[0] ?? "";
  }

  /** The request; null if a field is wrong, which the browser then says. */
  request({ complete }) {
    if (complete && this.needsKey && !$("key").value) return wrong($("key"), "This server needs a key.");
    const tools = this.#tools();
    if (tools === null) return null;
    if (complete ? !$("ask").reportValidity() : !$("model").reportValidity()) return null;
    const body = { model: $("model").value, input: $("input").value };
    if ($("instructions").value.trim()) body.instructions = $("instructions").value;
    if ($("effort").value) body.reasoning = { effort: $("effort").value, summary: "auto" };
    if ($("limit").value) body.max_output_tokens = Number($("limit").value);
    if (tools !== undefined) body.tools = tools;
    if ($("seal").checked) body.include = ["reasoning.encrypted_content"];
    if ($("stream").checked) body.stream = true;
    body.store = false;
    return body;
  }

  /** The tools; undefined if there are none, null if they cannot be read. */
  #tools() {
    if (!$("with-tools").checked) return undefined;
    try {
      const tools = JSON.parse($("tools").value);
      if (Array.isArray(tools)) return tools;
      wrong($("tools"), "Not a JSON array.");
    } catch (error) {
      wrong($("tools"), `Not valid JSON: ${error.message}`);
    }
    return null;
  }

  #showTools() {
    $("tools-label").hidden = $("tools").disabled = !$("with-tools").checked; // a disabled field cannot be wrong
  }

  #keep() {
    const values = KEPT.map((id) => [id, $(id).type === "checkbox" ? $(id).checked : $(id).value]);
    try {
      sessionStorage.setItem("form", JSON.stringify(Object.fromEntries(values)));
    } catch {
      sessionStorage.removeItem("form"); // it is too long for the browser
    }
  }

  #restore() {
    const values = JSON.parse(sessionStorage.getItem("form") ?? "{}");
    for (const id of KEPT.filter((each) => each in values)) {
      if ($(id).type === "checkbox") $(id).checked = values[id];
      else $(id).value = values[id];
    }
    $("key").value = sessionStorage.getItem("key") ?? "";
  }
}

function wrong(field, message) {
  field.setCustomValidity(message);
  field.reportValidity();
  return null;
}
