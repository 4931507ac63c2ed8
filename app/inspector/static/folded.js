// JSON that can be read: what is long in it is folded, and made only when it is opened.

const SHORT = 2000; // characters that are shown as they are
const MOST = 500; // entries of one list that are shown one by one

/** Elements that show this value. */
export function folded(value) {
  if (typeof value === "string") return [block(value)];
  const text = JSON.stringify(value ?? null, null, 2);
  if (text.length <= SHORT) return [block(text)];
  const entries = Object.entries(value);
  const elements = [];
  let short = {};
  const flush = () => {
    if (Object.keys(short).length) elements.push(block(membersOf(short)));
    short = {};
  };
  for (const [name, entry] of entries.slice(0, MOST)) {
    const size = JSON.stringify(entry, null, 2)?.length ?? 0;
    if (size <= SHORT && !Array.isArray(value)) {
      short[name] = entry;
      continue;
    }
    flush();
    elements.push(fold([Array.isArray(value) ? `[${name}]` : name, kindOf(entry), amountOf(entry, size)], () => folded(entry)));
  }
  flush();
  if (entries.length > MOST) elements.push(fold([`${entries.length - MOST} more`], () => [block(text)]));
  return elements;
}

/** A closed or open part with a title. */
export function fold(words, content, { open = false } = {}) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = words.filter(Boolean).join(" · ");
  details.append(summary);
  const make = () => {
    if (details.childElementCount === 1) details.append(...content());
  };
  details.addEventListener("toggle", () => details.open && make());
  details.open = open;
  if (open) make();
  return details;
}

function block(text) {
  return Object.assign(document.createElement("pre"), { textContent: text });
}

function membersOf(members) {
  return JSON.stringify(members, null, 2).replace(/^\{\n|\n\}$/g, "").replace(/^ {2}/gm, "");
}

function kindOf(entry) {
  if (entry === null || typeof entry !== "object") return "";
  return [entry.role, entry.type, entry.name ?? entry.function?.name].filter((word) => typeof word === "string").join(" ");
}

function amountOf(entry, size) {
  if (Array.isArray(entry)) return `${entry.length} entries, ${size} characters`;
  return `${typeof entry === "string" ? entry.length : size} characters`;
}
