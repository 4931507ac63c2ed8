// What a part of a prompt said before, and what it says now: the text around the first difference.

const AROUND = 40; // characters before and after it
const MOST = 120; // characters of the difference itself
const MARKS = new Set(["cache_control", "prompt_cache_breakpoint"]); // they move, and are no part of what is cached

/** `[before, now]`, each `[head, changed, tail]`; null if the requests as they are shown do not differ there. */
export function changeIn(place, before, now) {
  const path = place.match(/[a-z_]+|\d+/g) ?? [];
  const [old, recent] = [before, now].map((ask) => path.reduce((value, key) => value?.[key], ask));
  if (old === undefined || recent === undefined) return null;
  const texts = firstDifference(plain(old), plain(recent));
  return texts && around(...texts);
}

/** The first texts in these values that differ. */
function firstDifference(old, recent) {
  if (typeof old === "object" && typeof recent === "object" && old && recent) {
    for (const key of new Set([...Object.keys(recent), ...Object.keys(old)])) {
      const found = firstDifference(plain(old[key]), plain(recent[key]));
      if (found) return found;
    }
    return null;
  }
  const texts = [old, recent].map((value) => (typeof value === "string" ? value : JSON.stringify(value) ?? ""));
  return texts[0] === texts[1] ? null : texts;
}

/** A text in place of a list with nothing but this text, and no marks. */
function plain(value) {
  if (Array.isArray(value) && value.length === 1) {
    const { type, text, ...more } = plain(value[0]) ?? {};
    if (typeof text === "string" && ["text", "input_text"].includes(type) && !Object.keys(more).length) return text;
  }
  if (typeof value !== "object" || !value || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !MARKS.has(key)));
}

/** The text around the first difference: `[before, now]`, each `[head, changed, tail]`. */
function around(old, recent) {
  const shorter = Math.min(old.length, recent.length);
  let start = 0;
  while (start < shorter && old[start] === recent[start]) start += 1;
  let end = 0; // characters after the difference
  while (end < shorter - start && old.at(-1 - end) === recent.at(-1 - end)) end += 1;
  return [old, recent].map((text) => [
    `${start > AROUND ? "…" : ""}${text.slice(Math.max(start - AROUND, 0), start)}`,
    cut(text.slice(start, text.length - end), MOST),
    text.length - end - start > MOST ? "" : cut(text.slice(text.length - end), AROUND),
  ]);
}

function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
