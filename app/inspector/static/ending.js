// How an answer ended, and its tokens: as the upstream said it, and as the client got it, in the words of each.

import { count } from "./format.js";

const MEANING = {
  stop: "completed", end_turn: "completed", stop_sequence: "completed", tool_calls: "completed", tool_use: "completed", function_call: "completed",
  length: "incomplete: max_output_tokens", max_tokens: "incomplete: max_output_tokens", content_filter: "incomplete: content_filter",
};
const TOKENS = ["input", "cached", "output", "reasoning"];

/** What these events or chunks, of any dialect, say about the end of an answer: `{finish, tokens}`. */
export function endOf(values) {
  let finish = "";
  const usage = {};
  for (const value of values) {
    const response = value?.response ?? (value?.object === "response" ? value : null);
    const last = listIn(value?.choices).map((choice) => choice?.finish_reason).findLast(Boolean);
    const status = response?.status && response.status !== "in_progress" && response.status !== "queued" ? [response.status, response.incomplete_details?.reason].filter(Boolean).join(": ") : "";
    finish = String(last ?? value?.delta?.stop_reason ?? value?.stop_reason ?? (status || finish));
    Object.assign(usage, value?.usage ?? response?.usage ?? value?.message?.usage);
  }
  return { finish, tokens: tokensIn(usage) };
}

/** Sections with both. `asks`: how many answers the client's tokens are of. */
export function endings(upstream, client, { asks }) {
  const sections = [];
  if (upstream.finish || client.finish) {
    const [one, other] = [upstream, client].map(({ finish }) => finish || "nothing");
    const isSame = (MEANING[upstream.finish] ?? upstream.finish) === client.finish;
    sections.push(section("Finish", isSame, isSame && one === other ? `the same (${one})` : `upstream ${one}, client ${other}${isSame ? " (which means the same)" : ""}`));
  }
  const known = TOKENS.filter((name) => upstream.tokens[name] !== undefined);
  if (known.length || client.tokens.output !== undefined) {
    const isSame = known.length > 0 && known.every((name) => upstream.tokens[name] === (client.tokens[name] ?? 0));
    const words = isSame ? `the same (${inWords(client.tokens)})` : `upstream ${inWords(upstream.tokens)}; client ${inWords(client.tokens)}`;
    sections.push(section("Tokens", isSame, asks > 1 ? `${words}. The client's are those of ${asks} requests together.` : words));
  }
  return sections;
}

export function listIn(value) {
  return Array.isArray(value) ? value : [];
}

/** Of the usage of any dialect. The Messages API counts what caches read and wrote beside the input. */
function tokensIn(usage) {
  const beside = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const input = usage.prompt_tokens ?? usage.input_tokens;
  return {
    input: input === undefined ? undefined : input + beside,
    cached: usage.cache_read_input_tokens ?? (usage.prompt_tokens_details ?? usage.input_tokens_details)?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    output: usage.completion_tokens ?? usage.output_tokens,
    reasoning: (usage.completion_tokens_details ?? usage.output_tokens_details)?.reasoning_tokens,
  };
}

function inWords(tokens) {
  const known = TOKENS.filter((name) => typeof tokens[name] === "number");
  return known.map((name) => `${name} ${count(tokens[name])}`).join(", ") || "none";
}

function section(title, isSame, words) {
  const part = document.createElement("section");
  part.className = "compared";
  part.dataset.same = String(isSame);
  part.append(Object.assign(document.createElement("h3"), { textContent: `${title}: ${words}` }));
  return part;
}
