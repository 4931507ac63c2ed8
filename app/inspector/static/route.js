// The address of what is shown, in the fragment: `#try`, `#watch`, `#turn/17/events`, `#sessions`, `#session/4`.

/** What a fragment names: `{view, number, tab}`. */
export function placeOf(fragment) {
  const [kind, number, tab] = fragment.replace(/^#/, "").split("/");
  const given = /^\d{1,15}$/.test(number ?? "") ? Number(number) : null;
  if (kind === "turn" && given !== null) return { view: "watch", number: given, tab: tab ?? "" };
  if (kind === "session" && given !== null) return { view: "sessions", number: given, tab: "" };
  if (kind === "watch" || kind === "sessions") return { view: kind, number: null, tab: "" };
  return { view: "try", number: null, tab: "" };
}

/** Write an address. One of another kind can be gone back from. */
export function goTo(fragment) {
  const next = `#${fragment}`;
  if (next === location.hash) return;
  const kindOf = (text) => text.split("/")[0];
  if (kindOf(next) === kindOf(location.hash || "#try")) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
}
