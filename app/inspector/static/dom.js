// Elements, and the words for numbers. All text is set as text: nothing that a model or a client says is markup.

const SHORT = 2000; // characters of JSON that are shown as they are
const MOST = 300; // entries of one list

/** An element. Text is text; `on…` are listeners; `data` is its dataset. */
export function h(name, given = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...content.flat().filter((each) => each !== null && each !== undefined && each !== ""));
  return element;
}

export const note = (text, kind = "dim") => h("p", { className: kind }, text);

/** A part that is folded, and made when it is opened. */
export function fold(words, make, { open = false, kind = "" } = {}) {
  const details = h("details", { className: kind }, h("summary", {}, words.filter(Boolean).join(" · ")));
  const fill = () => details.childElementCount > 1 || details.append(...[make()].flat());
  details.addEventListener("toggle", () => details.open && fill());
  if (open) fill();
  details.open = open;
  return details;
}

/** A member of a request, folded; null if there is none. */
export const folded = (name, value) =>
  (value ? fold([name, `${count(String(value).length)} characters`], () => json(value)) : null);

export const grid = (names, lines) => h("table", {},
  h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, ...lines));

/** JSON for people: what is long in it is folded. */
export function json(value) {
  if (typeof value === "string") return [text(value)];
  const whole = JSON.stringify(value ?? null, null, 2);
  const entries = Object.entries(value ?? {});
  if (whole.length <= SHORT || !entries.length) return [text(whole)];
  const named = (name) => (Array.isArray(value) ? `[${name}]` : name);
  const elements = entries.slice(0, MOST).map(([name, entry]) => {
    const size = (typeof entry === "string" ? entry : JSON.stringify(entry)).length;
    if (size < 200) return text(`${named(name)}: ${JSON.stringify(entry)}`);
    const kind = [entry?.role, entry?.type, entry?.name ?? entry?.function?.name];
    const words = kind.filter((word) => typeof word === "string").join(" ");
    return fold([named(name), words, `${count(size)} characters`], () => json(entry));
  });
  if (entries.length > MOST) elements.push(fold([`${entries.length - MOST} more`], () => text(whole)));
  return elements;
}

/** A text as it is; a long one at first only its beginning. */
export function text(value, most = 20_000) {
  const place = h("pre", {}, value.slice(0, most));
  if (value.length <= most) return place;
  const more = h("button", { type: "button" }, `Show all ${count(value.length)} characters`);
  more.addEventListener("click", () => place.replaceChildren(value));
  place.append("…\n", more);
  return place;
}

/** Puts new content into a place; what was open or scrolled there stays so. */
export function redraw(place, content) {
  const open = [...place.querySelectorAll("details")].map((each) => each.open);
  const { scrollTop } = place;
  place.replaceChildren(...content);
  for (let index = 0; index < open.length; index += 1) {
    const details = place.querySelectorAll("details")[index]; // those within it are made when it is opened
    if (!details || details.open === open[index]) continue;
    details.open = open[index];
    details.dispatchEvent(new Event("toggle"));
  }
  place.scrollTop = scrollTop;
}

/** Tabs: `panels` are {name, title, make}; `shown(name)` hears of the one that is chosen. */
export function tabs(panels, chosen, shown) {
  const place = h("div", { className: "panel", role: "tabpanel", tabIndex: 0 });
  const list = h("div", { className: "tabs", role: "tablist", "aria-label": "Details" });
  const id = `panel-${Math.random().toString(36).slice(2)}`;
  place.id = id;
  for (const { name, title } of panels) {
    const tab = h("button", { type: "button", role: "tab", id: `${id}-${name}`, data: { name } }, title);
    tab.setAttribute("aria-controls", id);
    tab.addEventListener("click", () => show(name));
    list.append(tab);
  }
  list.addEventListener("keydown", (key) => {
    const all = [...list.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
    if (!step) return;
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.click();
    next.focus();
  });
  function show(name, { quiet = false } = {}) {
    const panel = panels.find((each) => each.name === name) ?? panels[0];
    for (const tab of list.children) {
      const isThis = tab.dataset.name === panel.name;
      tab.setAttribute("aria-selected", isThis);
      tab.tabIndex = isThis ? 0 : -1;
      if (isThis) place.setAttribute("aria-labelledby", tab.id);
    }
    place.dataset.name = panel.name;
    place.replaceChildren(...[panel.make()].flat());
    if (!quiet) shown(panel.name);
  }
  show(chosen, { quiet: true });
  const redrawn = () => redraw(place, [panels.find(({ name }) => name === place.dataset.name).make()].flat());
  return { list, place, show, redrawn };
}

export const count = (number) => number.toLocaleString("en");
export const ms = (value) => (value < 1000 ? `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ms`
  : `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`);
export const money = (dollars) => (dollars ? `$${dollars < 0.01 ? dollars.toFixed(5) : dollars.toFixed(3)}` : "");

/** Copies a text, and says so in this button. */
export async function copy(value, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(value);
    button.textContent = "copied";
  } catch {
    button.textContent = "clipboard blocked"; // browsers let only safe origins write there
  }
  setTimeout(() => (button.textContent = words), 1500);
}
