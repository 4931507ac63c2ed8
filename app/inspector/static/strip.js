// When each event arrived: one line for each output item, and a mark for each event.

const LINE = 18; // pixels
const WIDTH = 1000; // units across, and the most marks
const PAUSE = 250; // milliseconds between two drawings while events arrive

export class Strip {
  constructor(place) {
    this.place = place;
  }

  /** Draws these events, a moment later if it has just drawn. */
  draw(events, lanes) {
    clearTimeout(this.waiting);
    const now = performance.now();
    const wait = (this.last ?? -PAUSE) + PAUSE - now;
    if (wait > 0) {
      this.waiting = setTimeout(() => this.draw(events, lanes), wait);
      return;
    }
    this.last = now;
    const last = Math.max(events.at(-1)?.at ?? 0, 1);
    const height = LINE * (lanes.size + 1);
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", height });
    const seats = new Map([...lanes.keys()].map((seat, index) => [seat, index + 1]));
    for (const { event, at, lane } of thinned(events)) {
      const y = LINE * (seats.get(event.output_index) ?? 0);
      svg.append(element("rect", { x: 4 + (at / last) * (WIDTH - 12), y: y + 4, width: 3, height: LINE - 8, class: `lane-${lane}` }));
    }
    const names = document.createElement("div");
    names.className = "names";
    for (const { kind, number } of [{ kind: "lifecycle", number: 0 }, ...lanes.values()]) names.append(span(`lane-${number}`, kind));
    this.place.replaceChildren(names, svg, span("end", `${last.toFixed(0)} ms`));
  }
}

/** At most as many as the strip is wide. */
function thinned(events) {
  const every = Math.ceil(events.length / WIDTH);
  return events.filter((row, index) => index % every === 0 || row.event.output_index === undefined);
}

function span(name, text) {
  return Object.assign(document.createElement("span"), { className: name, textContent: text });
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
