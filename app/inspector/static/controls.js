// Tabs, as keyboards and screen readers expect them.

let made = 0;

/** An id that no other element of the page has. */
export function unique(name) {
  made += 1;
  return `${name}-${made}`;
}

/** Makes the tabs in `list`, now and later, show their panels in `root`. Returns a function that shows one of them. */
export function tabs(list, root, shown = () => {}) {
  const every = () => [...list.querySelectorAll("[role=tab]")];
  const show = (chosen) => {
    for (const tab of every()) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      root.querySelector(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
    }
    shown(chosen);
  };
  list.addEventListener("click", (click) => every().includes(click.target) && show(click.target));
  list.addEventListener("keydown", (key) => {
    const all = every();
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
