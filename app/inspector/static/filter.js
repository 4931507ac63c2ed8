// Which turns the list shows: those that every field of the form lets through.

const CHOICES = ["model", "key", "outcome", "tool"];
const FIELDS = ["text", "longer", ...CHOICES];
const WAIT = 150; // milliseconds after the last letter
const PAUSE = 1000; // milliseconds between two looks while turns end

export class Filter {
  /** `search(text, signal)` returns the numbers of the turns in which the text occurs; `chosen(query)` hears of filters. */
  constructor(form, { search, changed, chosen, rows }) {
    Object.assign(this, { form, search, changed, chosen, rows, found: null });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => this.#entered(event.target));
    form.addEventListener("focusin", () => this.#fill());
    form.addEventListener("reset", () => setTimeout(() => this.#entered(form.elements.text)));
    form.addEventListener("keydown", (key) => key.key === "Escape" && this.form.reset());
  }

  /** Whether anything is left out. */
  get isOn() {
    return Boolean(this.#value("text")) || Boolean(this.#value("longer")) || CHOICES.some((name) => this.#value(name));
  }

  /** Fill in the filters of an address. */
  set(query) {
    const given = new URLSearchParams(query);
    for (const name of FIELDS) {
      const field = this.form.elements[name];
      const value = given.get(name) ?? "";
      if (CHOICES.includes(name) && ![...field.options].some((option) => option.value === value)) field.append(new Option(value, value));
      field.value = value;
    }
    const isShut = FIELDS.every((name) => name === "text" || !this.#value(name));
    if (!isShut) this.form.querySelector("details").open = true;
    this.#look();
  }

  passes(row) {
    const text = this.#value("text").toLowerCase();
    if (text && !this.found?.has(row.number) && !wordsOf(row).includes(text)) return false;
    if (this.#value("longer") && !((row.total_ms ?? 0) >= 1000 * Number(this.#value("longer")))) return false;
    return CHOICES.every((name) => !this.#value(name) || VALUES[name](row).includes(this.#value(name)));
  }

  /** More has been said: look once more for the text, but not for every turn. */
  again() {
    if (!this.#value("text") || this.due) return;
    this.due = setTimeout(() => {
      this.due = null;
      this.#look();
    }, PAUSE);
  }

  #entered(field) {
    const entries = FIELDS.map((name) => [name, this.#value(name)]).filter(([, value]) => value);
    this.chosen(new URLSearchParams(entries).toString());
    if (field.name === "text") this.#later();
    else this.changed();
  }

  #value(name) {
    return this.form.elements[name].value.trim();
  }

  #later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#look(), WAIT);
  }

  async #look() {
    const text = this.#value("text");
    this.looking?.abort();
    const looking = (this.looking = new AbortController());
    if (!text) this.found = null;
    else {
      try {
        this.found = await this.search(text, looking.signal);
      } catch {
        if (looking.signal.aborted) return; // a later one is on its way
        this.found = null; // the rows' own words count
      }
    }
    this.changed();
  }

  /** The values that occur now. */
  #fill() {
    for (const name of CHOICES) {
      const select = this.form.elements[name];
      const values = [...new Set([...this.rows().flatMap(VALUES[name]), this.#value(name)])].filter(Boolean).sort();
      const known = [...select.options].slice(1).map((option) => option.value);
      if (values.join("\n") === known.join("\n")) continue;
      const { value } = select;
      select.replaceChildren(select.options[0], ...values.map((each) => new Option(each, each)));
      select.value = value;
    }
  }
}

const VALUES = {
  model: (row) => [row.model],
  key: (row) => [row.key],
  outcome: (row) => [row.state === "running" ? "running" : row.finish],
  tool: (row) => row.calls ?? [],
};

function wordsOf(row) {
  return [row.id, row.model, row.said, row.answered, row.problem, row.error, ...(row.calls ?? [])].join("\n").toLowerCase();
}
