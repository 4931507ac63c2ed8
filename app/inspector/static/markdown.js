// A safe part of Markdown as elements: no HTML, no images from elsewhere, links to http and https only.

const LONGEST = 200_000; // characters; a longer text is shown as it is
const MARKS = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]{1,500})\]\((https?:\/\/[^)\s]{1,2000})\)/g;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^(#{1,6}) (.*)$/;
const ENTRY = /^( *)([-*+]|\d{1,9}[.)]) (.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$/;
const DASHES = /^[ :|]*-[ :|-]*$/;
const DEEPEST = 20; // lists in lists
const MOST_CELLS = 100; // of one row; browsers take long for wider tables

/** Elements that show this text. */
export function rendered(text) {
  if (text.length > LONGEST) return [made("pre", text)];
  return blocks(text.split("\n"));
}

function blocks(lines, depth = 0) {
  const result = [];
  let index = 0;
  while (index < lines.length) {
    const line = lines[index];
    const [element, next] = fence(lines, index) ?? heading(line, index) ?? table(lines, index) ?? list(lines, index, depth) ??
      quote(lines, index) ?? (line.trim() ? paragraph(lines, index) : [null, index + 1]);
    if (element) result.push(element);
    index = next;
  }
  return result;
}

function fence(lines, start) {
  const [, mark, language] = FENCE.exec(lines[start]) ?? [];
  if (!mark) return null;
  let end = start + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(mark)) end += 1;
  const code = made("code", lines.slice(start + 1, end).join("\n"));
  const block = made("pre");
  block.append(code);
  block.tabIndex = 0; // it may have to be scrolled
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", `Code ${language.trim().slice(0, 40)}`.trim());
  return [block, end + 1];
}

function heading(line, start) {
  if (RULE.test(line)) return [made("hr"), start + 1];
  const [, marks, text] = HEADING.exec(line) ?? [];
  if (!marks) return null;
  const element = inline(made("p"), text);
  element.className = "heading"; // the outline of the page is not the model's
  return [element, start + 1];
}

function table(lines, start) {
  if (!lines[start].includes("|") || !lines[start + 1]?.includes("|") || !DASHES.test(lines[start + 1])) return null;
  const element = made("table");
  let end = start;
  while (end < lines.length && lines[end].includes("|")) {
    if (end !== start + 1) element.append(row(lines[end], end === start ? "th" : "td"));
    end += 1;
  }
  return [element, end];
}

function row(line, kind) {
  const element = made("tr");
  const cells = line.trim().replace(/^\||\|$/g, "").split("|");
  if (cells.length > MOST_CELLS) cells.push(cells.splice(MOST_CELLS - 1).join("|"));
  for (const cell of cells) element.append(inline(made(kind), cell.trim()));
  return element;
}

/** A list of entries of one depth; what is indented more belongs to the entry before. */
function list(lines, start, depth) {
  const first = ENTRY.exec(lines[start]);
  if (!first) return null;
  const element = made(/\d/.test(first[2]) ? "ol" : "ul");
  if (/\d/.test(first[2])) element.start = Number.parseInt(first[2], 10);
  const margin = first[1].length;
  let end = start;
  while (end < lines.length) {
    const entry = ENTRY.exec(lines[end]);
    if (!entry || entry[1].length !== margin) break;
    end += 1;
    const inside = [];
    while (end < lines.length && lines[end].trim() && indent(lines[end]) > margin) inside.push(lines[end++]);
    const item = inline(made("li"), entry[3]);
    const text = inside.map((line) => line.slice(Math.min(indent(inside[0]), indent(line))));
    if (inside.length) item.append(...(depth < DEEPEST ? blocks(text, depth + 1) : [made("pre", text.join("\n"))]));
    element.append(item);
  }
  return [element, end];
}

function indent(line) {
  return line.length - line.trimStart().length;
}

function quote(lines, start) {
  let end = start;
  while (end < lines.length && lines[end].startsWith(">")) end += 1;
  if (end === start) return null;
  const element = inline(made("blockquote"), lines.slice(start, end).map((line) => line.replace(/^> ?/, "")).join("\n"));
  return [element, end];
}

function paragraph(lines, start) {
  let end = start + 1;
  while (end < lines.length && lines[end].trim() && !FENCE.test(lines[end]) && !HEADING.test(lines[end]) && !ENTRY.test(lines[end])) end += 1;
  return [inline(made("p"), lines.slice(start, end).join("\n")), end];
}

/** The text with its marks as elements. */
function inline(element, text) {
  let done = 0;
  for (const found of text.matchAll(MARKS)) {
    const [whole, code, strong, emphasis, label, address] = found;
    element.append(text.slice(done, found.index));
    if (code !== undefined) element.append(made("code", code));
    else if (strong !== undefined) element.append(made("strong", strong));
    else if (emphasis !== undefined) element.append(made("em", emphasis));
    else element.append(link(address, label));
    done = found.index + whole.length;
  }
  element.append(text.slice(done));
  return element;
}

/** A link that tells the other side nothing. */
export function link(address, label) {
  return Object.assign(made("a", label || address), { href: address, rel: "noreferrer noopener", target: "_blank" });
}

function made(name, text = "") {
  return Object.assign(document.createElement(name), { textContent: text });
}
