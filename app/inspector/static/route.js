// The address of what is shown, in the fragment: `#try`, `#watch`, `#turn/17/events`, `#sessions`, `#session/4`.
// Those of turns also have the filters of the list: `#watch?model=small&text=hello`.

let filters = "";

/** What a fragment names: `{view, number, tab, filters}`. The filters are null if it says nothing of them. */
export function placeOf(fragment) {
  const [path, query] = fragment.replace(/^#/, "").split(/\?(.*)/s);
  const [kind, number, tab] = path.split("/");
  const given = /^\d{1,15}$/.test(number ?? "") ? Number(number) : null;
  if (kind === "turn" && given !== null) return { view: "watch", number: given, tab: tab ?? "", filters: query ?? null };
  if (kind === "session" && given !== null) return { view: "sessions", number: given, tab: "", filters: null };
  if (kind === "watch") return { view: kind, number: null, tab: "", filters: query ?? "" };
  return { view: kind === "sessions" ? kind : "try", number: null, tab: "", filters: null };
}

/** Write an address. One of another kind can be gone back from. */
export function goTo(fragment) {
  write(fragment, { isNew: kindOf(`#${fragment}`) !== kindOf(location.hash || "#try") });
}

/** The filters of the list are now these. One can go back to where there were none. */
export function filterBy(query) {
  if (query === filters) return;
  const isNew = !query !== !filters;
  filters = query;
  if (placeOf(location.hash).view === "watch") write(location.hash.slice(1).split("?")[0], { isNew });
}

/** The filters are those of the address that is there. */
export function filtersAre(query) {
  filters = query;
}

function write(fragment, { isNew }) {
  const next = `#${fragment}${filters && /^(?:turn|watch)\b/.test(fragment) ? `?${filters}` : ""}`;
  if (next === location.hash) return;
  if (isNew) history.pushState(null, "", next);
  else history.replaceState(null, "", next);
}

function kindOf(fragment) {
  return fragment.split(/[/?]/)[0];
}
