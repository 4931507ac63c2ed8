// A few words of a turn, by which it can be told from the others.

const MOST = 160; // characters
// what Codex writes before the output of a command
const PREAMBLE = /^(?:(?:Chunk ID|Wall time|Exit code|Process exited|Process running|Original token count)\b.*\n)+Output:\n/;

/** The end of what a client sent: the user's last text, or the last result of a tool. */
export function briefly(request) {
  const { input } = request ?? {};
  if (typeof input === "string") return cut(input);
  if (!Array.isArray(input) || !input.length) return cut(request?.left_out ?? "");
  const last = input.at(-1) ?? {};
  if (typeof last.type === "string" && last.type.endsWith("_output")) return cut(`result: ${resultIn(textOf(last.output))}`);
  return cut(textOf(last.content) || String(last.type ?? ""));
}

/** The names of the tools that these events call. */
export function calledIn(events) {
  return events
    .filter(({ type, item }) => type === "response.output_item.done" && item?.type?.endsWith("_call"))
    .map(({ item }) => cut(String(item.name ?? item.type.replace(/_call$/, ""))));
}

/** What a command printed, and its exit code if it failed. */
function resultIn(text) {
  const [preamble] = PREAMBLE.exec(text) ?? [""];
  const [, code] = /code:? (\d+)$/m.exec(preamble) ?? [];
  return `${code > 0 ? `exit code ${code}: ` : ""}${text.slice(preamble.length) || (preamble ? "(no output)" : "")}`;
}

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content).slice(0, 4 * MOST);
  return content.map((part) => part?.text ?? `[${part?.type}]`).join(" ");
}

/** A text on one line, short enough for a row. */
export function cut(text) {
  const line = text.slice(0, 4 * MOST).replace(/\s+/g, " ").trim();
  return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}
