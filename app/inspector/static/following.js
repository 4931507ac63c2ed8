// Scrolling along with what grows, until somebody scrolls back.

const NEAR = 30; // pixels from the end, where one follows again

/** A function to call when `place` has grown. */
export function following(place) {
  let follows = true;
  let last = 0;
  let asked = false;
  place.addEventListener("scroll", () => {
    if (place.scrollTop < last) follows = false;
    if (place.scrollHeight - place.scrollTop - place.clientHeight < NEAR) follows = true;
    last = place.scrollTop;
  });
  return () => {
    if (asked || !follows) return;
    asked = true; // once for all that comes until the page is painted
    requestAnimationFrame(() => {
      asked = false;
      if (follows) place.scrollTop = place.scrollHeight;
    });
  };
}
