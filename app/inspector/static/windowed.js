// A list box of any length: only the rows in sight are elements of the page. All rows have one height.

import { unique } from "./controls.js";

const BEYOND = 8; // rows above and below those in sight
const GUESS = 24; // pixels of a row, until one can be measured
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };

export class Windowed {
  /** `make(item, index)` returns the element of a row, without its role. */
  constructor(list, { make, chosen = () => {}, opened = () => {} }) {
    this.list = list;
    this.make = make;
    this.chosen = chosen;
    this.opened = opened;
    this.items = [];
    this.selected = null;
    this.elements = new Map();
    this.height = 0;
    list.addEventListener("scroll", () => this.#later(), { passive: true });
    list.addEventListener("click", (click) => this.#click(click));
    list.addEventListener("keydown", (key) => this.#key(key));
    new ResizeObserver(() => this.#measureAgain()).observe(list);
  }

  /** Show these items. `anchored`: the first row in sight stays where it is, whatever comes before it. */
  show(items, { anchored = false } = {}) {
    const height = this.#rowHeight();
    const first = anchored ? this.items[Math.floor(this.list.scrollTop / height)] : undefined;
    const within = this.list.scrollTop % height;
    this.items = items;
    if (!items.includes(this.selected)) this.selected = null;
    this.#draw();
    const now = first === undefined ? -1 : items.indexOf(first);
    if (now < 0) return;
    this.list.scrollTop = now * height + within;
    this.#draw();
  }

  /** This item has changed: make its row again if it is in sight. */
  touch(item) {
    if (!this.elements.has(item)) return;
    this.elements.get(item).remove();
    this.elements.delete(item);
    this.#later();
  }

  /** Select an item and scroll it into sight. `quiet`: without telling. */
  select(item, { quiet = false } = {}) {
    const index = this.items.indexOf(item);
    if (index < 0) return;
    this.selected = item;
    this.#reveal(index);
    this.#draw();
    if (!quiet) this.chosen(item);
  }

  clear() {
    this.selected = null;
    this.show([]);
  }

  atStart() {
    return this.list.scrollTop < 2;
  }

  atEnd() {
    return this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 2 * this.#rowHeight();
  }

  toEnd() {
    this.list.scrollTop = this.list.scrollHeight;
    this.#draw();
  }

  #reveal(index) {
    const height = this.#rowHeight();
    const [top, bottom] = [index * height, (index + 1) * height];
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (bottom > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = bottom - this.list.clientHeight;
  }

  #rowHeight() {
    if (!this.height) {
      const [any] = this.elements.values();
      this.height = any?.getBoundingClientRect().height || 0;
    }
    return this.height || GUESS;
  }

  #measureAgain() {
    this.height = 0;
    if (this.elements.has(this.selected)) this.#reveal(this.items.indexOf(this.selected));
    this.#draw();
  }

  #later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.#draw());
  }

  /** Room for the rows that are no elements: margins, since padding would be part of the list's own height. */
  #pad(first, last) {
    const height = this.#rowHeight();
    for (const element of this.padded ?? []) element.style.marginTop = element.style.marginBottom = "";
    const [start, end] = [this.list.firstElementChild, this.list.lastElementChild];
    this.padded = start ? [start, end] : [];
    if (!start) return;
    start.style.marginTop = `${first * height}px`;
    end.style.marginBottom = `${(this.items.length - last) * height}px`;
  }

  #inSight() {
    const height = this.#rowHeight();
    const count = Math.ceil(this.list.clientHeight / height) + 2 * BEYOND;
    const last = Math.min(this.items.length, Math.floor(this.list.scrollTop / height) - BEYOND + count);
    return [Math.max(0, Math.min(last, this.items.length) - count), Math.max(last, 0)];
  }

  #draw() {
    this.asked = false;
    const [first, last] = this.#inSight();
    const shown = new Set(this.items.slice(first, last));
    for (const [item, element] of this.elements) {
      if (shown.has(item)) continue;
      element.remove();
      this.elements.delete(item);
    }
    let place = this.list.firstElementChild;
    for (let index = first; index < last; index += 1) {
      const element = this.#element(this.items[index], index);
      if (element === place) place = place.nextElementSibling;
      else this.list.insertBefore(element, place);
    }
    const wasGuessed = !this.height;
    this.#pad(first, last);
    this.#nameSelected();
    if (wasGuessed && this.#rowHeight() && this.height) this.#draw();
  }

  #element(item, index) {
    let element = this.elements.get(item);
    if (!element) {
      element = this.make(item, index);
      element.setAttribute("role", "option");
      element.id ||= unique("option");
      element.item = item;
      this.elements.set(item, element);
    }
    element.setAttribute("aria-selected", String(item === this.selected));
    element.setAttribute("aria-posinset", index + 1);
    element.setAttribute("aria-setsize", this.items.length);
    return element;
  }

  #nameSelected() {
    const active = this.elements.get(this.selected);
    if (active) this.list.setAttribute("aria-activedescendant", active.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  #click(click) {
    const row = click.target.closest("[role=option]");
    if (!row) return;
    this.select(row.item);
    this.opened(row.item);
  }

  #key(key) {
    if (key.target !== this.list || key.ctrlKey || key.metaKey || key.altKey) return;
    const here = this.items.indexOf(this.selected);
    const step = STEPS[key.key];
    if (step !== undefined && this.items.length) {
      this.select(this.items[Math.min(Math.max(here + step, 0), this.items.length - 1)]);
    } else if (key.key === "Enter" && here >= 0) {
      this.opened(this.selected, { byKey: true });
    } else {
      return;
    }
    key.preventDefault();
  }
}
