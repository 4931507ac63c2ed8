// The AI SDK: `streamText` over @ai-sdk/openai, or over @ai-sdk/open-responses.
import { baseURL, degrees, lines, load, runCells } from "./run_cells.mjs";

const open = process.argv[3] === "open-responses";
const { streamText, tool, stepCountIs, Output } = await load("ai");
const { z } = await load("zod");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenResponses } = await load("@ai-sdk/open-responses");

const openai = createOpenAI({ baseURL, apiKey: "any" });
const provider = open
  ? createOpenResponses({ name: "proxy", url: `${baseURL}/responses`, apiKey: "any" })
  : (name) => openai.responses(name);
const thinking = { reasoningEffort: "low", reasoningSummary: "auto" };
const encrypted = { store: false, include: ["reasoning.encrypted_content"] };
const asThinking = {
  proxy: thinking,
  openai: { ...thinking, ...encrypted, forceReasoning: true }, // it knows OpenAI's own names only
};
const city = z.object({ city: z.string() });
const nothing = z.object({});

/** All parts of a stream, and what they add up to. */
async function run(model, options = {}) {
  const result = streamText({
    model: provider(model),
    prompt: options.messages ? undefined : lines.PROMPT,
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    onError: () => {},
    providerOptions: { openai: { store: false } },
    ...options,
  });
  const told = { text: "", reasoning: "", errors: [], result };
  for await (const part of result.fullStream) {
    if (part.type === "start-step") told.text = "";
    else if (part.type === "text-delta") told.text += part.text;
    else if (part.type === "reasoning-delta") told.reasoning += part.text;
    else if (part.type === "error") told.errors.push(part.error);
    else if (part.type === "tool-error") told.errors.push(part.error);
    else if (part.type === "finish") told.ended = part.rawFinishReason ?? part.finishReason;
  }
  return told;
}

/** The text, when nothing went wrong. */
function textOf({ text, errors }) {
  if (errors.length) throw errors[0];
  return text;
}

const text = async (model) => ({ text: textOf(await run(model)) });

async function reasoning(model) {
  const told = await run(model, { providerOptions: asThinking });
  return { reasoning: told.reasoning, text: textOf(told) };
}

function weather(calls, more = {}) {
  const execute = async (input) => {
    calls.push(input.city);
    return degrees(input.city);
  };
  return tool({ description: "The weather of a city.", inputSchema: city, execute, ...more });
}

async function parallel(model, options = {}) {
  const calls = [];
  const told = await run(model, { ...options, tools: { [lines.WEATHER]: weather(calls) } });
  return { calls: calls.sort(), text: textOf(told) };
}

const thoughts = (model) => parallel(model, { providerOptions: asThinking });

async function custom(model) {
  let input = "";
  const execute = async (said) => {
    input += said;
    return lines.RAN;
  };
  const run_code = openai.tools.customTool({ description: "Runs a program.", format: { type: "text" }, execute });
  const told = await run(model, { tools: { [lines.RUN]: run_code } });
  return { input, text: textOf(told) };
}

async function namespace(model) {
  const calls = [];
  const providerOptions = { openai: { namespace: { name: lines.NAMESPACE, description: "Of the sky." } } };
  const told = await run(model, { tools: { [lines.LOOK_UP]: weather(calls, { providerOptions }) } });
  return { calls, text: textOf(told) };
}

async function search(model) {
  const calls = [];
  let query;
  const found = { type: "function", name: lines.WEATHER, parameters: lines.CITY };
  const tool_search = openai.tools.toolSearch({
    execution: "client",
    description: "Finds tools.",
    parameters: lines.QUERY,
    execute: async (input) => {
      query = input.arguments.query;
      return { tools: [found] };
    },
  });
  const deferred = weather(calls, { providerOptions: { openai: { deferLoading: true } } });
  const told = await run(model, { tools: { tool_search, [lines.WEATHER]: deferred } });
  return { query, calls, text: textOf(told) };
}

async function schema(model) {
  const shape = z.object({ city: z.string(), degrees: z.number().int() });
  const told = await run(model, { output: Output.object({ schema: shape, name: "weather" }) });
  return { parsed: await told.result.output };
}

async function picture(model) {
  const image = { type: "file", mediaType: "image/png", data: lines.PICTURE };
  const messages = [{ role: "user", content: [{ type: "text", text: lines.PROMPT }, image] }];
  return { text: textOf(await run(model, { messages })) };
}

async function pictureBack(model) {
  const data = { type: "data", data: lines.PIXEL };
  const take = tool({
    description: "Takes a picture.",
    inputSchema: nothing,
    execute: async () => "a picture",
    toModelOutput: () => ({ type: "content", value: [{ type: "file", mediaType: "image/png", data }] }),
  });
  return { text: textOf(await run(model, { tools: { take_picture: take } })) };
}

const refusal = async (model) => ({ refusal: textOf(await run(model)) });

async function incomplete(model) {
  const told = await run(model);
  return { text: textOf(told), ended: told.ended };
}

/** What a program that reads the error part finds in it. */
async function failed(model) {
  const told = await run(model);
  const [error] = told.errors;
  const said = error?.data?.error ?? error?.response?.error ?? error;
  const more = told.text ? { text: told.text } : {};
  return { ...more, error: error?.message ?? said?.message, code: said?.code };
}

const wait = async (model) => ({ text: textOf(await run(model, { maxRetries: 2 })) });

await runCells({
  text,
  reasoning,
  parallel,
  thoughts,
  custom,
  namespace,
  search,
  schema,
  picture,
  picture_back: pictureBack,
  refusal,
  incomplete,
  failed_before: failed,
  failed_in: failed,
  wait,
  cut: failed,
  silence: text,
});
