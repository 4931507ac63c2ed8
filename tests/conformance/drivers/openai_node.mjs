// The openai package for Node: every stream put together by its own `.stream()` helper.
import { baseURL, degrees, lines, load, runCells } from "./run_cells.mjs";

const { default: OpenAI } = await load("openai");
const { zodTextFormat } = await load("openai/helpers/zod");
const { z } = await load("zod");

const client = (maxRetries = 0) => new OpenAI({ baseURL, apiKey: "any", maxRetries });
const ask = (model, fields = {}, retries = 0) =>
  client(retries).responses.stream({ model, input: lines.PROMPT, store: false, ...fields }).finalResponse();

const WEATHER = { type: "function", name: lines.WEATHER, parameters: lines.CITY, strict: true };
const LOOK_UP = { type: "function", name: lines.LOOK_UP, parameters: lines.CITY, strict: false };
const output = (call, given) => ({ type: `${call.type}_output`, call_id: call.call_id, output: given });

/** Ask again with what the tools gave until there is a message. */
async function loop(model, tools, answer, fields = {}) {
  const input = [{ role: "user", content: lines.PROMPT }];
  for (;;) {
    const response = await ask(model, { input, tools, ...fields });
    const given = response.output.map(answer).filter(Boolean);
    if (!given.length) return response;
    input.push(...response.output, ...given);
  }
}

/** Heard by its deltas and read from its end: the same. */
async function text(model) {
  const stream = client().responses.stream({ model, input: lines.PROMPT });
  let heard = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") heard += event.delta;
  const read = (await stream.finalResponse()).output_text;
  return { text: heard === read ? read : `${heard} is not ${read}` };
}

async function reasoning(model) {
  const response = await ask(model, { reasoning: { effort: "low", summary: "auto" } });
  const [thought, message] = response.output;
  return { reasoning: thought.summary.map((part) => part.text).join(""), text: message.content[0].text };
}

function calledBy(fits, made) {
  return (item) => {
    if (item.type !== "function_call" || !fits(item)) return null;
    made.push(JSON.parse(item.arguments).city);
    return output(item, degrees(made.at(-1)));
  };
}

async function parallel(model, fields = {}) {
  const calls = [];
  const response = await loop(model, [WEATHER], calledBy((item) => item.name === lines.WEATHER, calls), fields);
  return { calls, text: response.output_text };
}

const thoughts = (model) =>
  parallel(model, { reasoning: { effort: "low", summary: "auto" }, include: ["reasoning.encrypted_content"] });

async function custom(model) {
  let input = "";
  const tool = { type: "custom", name: lines.RUN, description: "Runs a program.", format: { type: "text" } };
  const response = await loop(model, [tool], (item) => {
    if (item.type !== "custom_tool_call" || item.name !== lines.RUN) return null;
    input += item.input;
    return output(item, lines.RAN);
  });
  return { input, text: response.output_text };
}

async function namespace(model) {
  const calls = [];
  const tool = { type: "namespace", name: lines.NAMESPACE, description: "Of the sky.", tools: [LOOK_UP] };
  const fits = (item) => item.namespace === lines.NAMESPACE && item.name === lines.LOOK_UP;
  const response = await loop(model, [tool], calledBy(fits, calls));
  return { calls, text: response.output_text };
}

async function search(model) {
  const calls = [];
  let query;
  const called = calledBy((item) => item.name === lines.WEATHER, calls);
  const tool = { type: "tool_search", execution: "client", description: "Finds tools.", parameters: lines.QUERY };
  const response = await loop(model, [tool], (item) => {
    if (item.type !== "tool_search_call") return called(item);
    query = item.arguments.query;
    const { call_id } = item;
    return { type: "tool_search_output", call_id, tools: [WEATHER], execution: "client", status: "completed" };
  });
  return { query, calls, text: response.output_text };
}

async function schema(model) {
  const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number().int() }), "weather");
  return { parsed: (await ask(model, { text: { format } })).output_parsed };
}

async function picture(model) {
  const content = [
    { type: "input_text", text: lines.PROMPT },
    { type: "input_image", image_url: lines.PICTURE, detail: "high" },
  ];
  return { text: (await ask(model, { input: [{ role: "user", content }] })).output_text };
}

async function pictureBack(model) {
  const tool = { type: "function", name: "take_picture", parameters: { type: "object", properties: {} } };
  const response = await loop(model, [tool], (item) =>
    item.type === "function_call" ? output(item, [{ type: "input_image", image_url: lines.PICTURE }]) : null,
  );
  return { text: response.output_text };
}

async function refusal(model) {
  const [message] = (await ask(model)).output;
  return { refusal: message.content.map((part) => part.refusal).join("") };
}

async function incomplete(model) {
  const response = await ask(model);
  return { text: response.output_text, ended: response.incomplete_details.reason };
}

async function failedBefore(model) {
  try {
    return await ask(model);
  } catch (error) {
    return { error: error.message, code: error.code };
  }
}

async function failedIn(model) {
  const { output_text, error } = await ask(model);
  return { text: output_text, error: error.message, code: error.code };
}

const wait = async (model) => ({ text: (await ask(model, {}, 2)).output_text });

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
  failed_before: failedBefore,
  failed_in: failedIn,
  wait,
  cut: failedIn,
  silence: text,
});
