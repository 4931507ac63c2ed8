// Tabs and list boxes, as keyboards and screen readers expect them.

let made = 0;

/** An id that no other element of the page has. */
export function unique(name) {
  made += 1;
  return `${name}-${made}`;
}

/** Makes the tabs in `list` show their panels, which are in `root`. Returns a function that shows one of them. */
export function tabs(list, root, shown = () => {}) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const show = (chosen) => {
    for (const tab of all) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      root.querySelector(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
    }
    shown(chosen);
  };
  list.addEventListener("click", (click) => all.includes(click.target) && show(click.target));
  list.addEventListener("keydown", (key) => {
    const here = all.indexOf(key.target);
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: -1 }[key.key];
    if (to === undefined) return;
    const tab = all.at(to % all.length);
    show(tab);
    tab.focus();
    key.preventDefault();
  });
  return show;
}

/** A list of options, one of which is selected: by a click, or by keys while the list has the focus. */
export class Listbox {
  constructor(list, { chosen = () => {}, opened = () => {} }) {
    this.list = list;
    this.chosen = chosen;
    list.addEventListener("click", (click) => {
      const row = click.target.closest("[role=option]");
      if (!row) return;
      this.select(row);
      opened(row);
    });
    list.addEventListener("keydown", (key) => this.#key(key, opened));
  }

  select(row) {
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    row.id ||= unique("option");
    row.setAttribute("aria-selected", "true");
    row.scrollIntoView({ block: "nearest" });
    this.list.setAttribute("aria-activedescendant", row.id);
    this.chosen(row);
  }

  clear() {
    this.list.replaceChildren();
    this.list.removeAttribute("aria-activedescendant");
  }

  #key(key, opened) {
    if (key.target !== this.list) return;
    const rows = [...this.list.querySelectorAll("[role=option]")];
    const here = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -rows.length, End: rows.length }[key.key];
    if (step !== undefined && rows.length) {
      this.select(rows[Math.min(Math.max(here + step, 0), rows.length - 1)]);
    } else if (key.key === "Enter" && here >= 0) {
      opened(rows[here]);
    } else {
      return;
    }
    key.preventDefault();
  }
}
