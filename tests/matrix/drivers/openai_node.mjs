// The openai package for Node: every stream put together by its own `.stream()` helper, the tools run by hand.
import { hands, load, said, serve, words } from "./driving.mjs";

const { default: OpenAI } = await load("openai");
const { zodTextFormat } = await load("openai/helpers/zod");
const { z } = await load("zod");

const Weather = z.object({ city: z.string(), degrees: z.number().int() });

await serve(async (task, told) => {
  const client = new OpenAI({ baseURL: task.url, apiKey: "any", maxRetries: task.retries });
  const input = [{ role: "user", content: task.picture ? [words.SAID, words.IMAGE] : [words.SAID] }];
  const fields = { model: task.model, store: false, input, ...(task.thinks ? words.THINKING : {}) };
  fields.tools = task.tools.map((name) => words.TOOLS[name]);
  if (task.schema) fields.text = { format: zodTextFormat(Weather, "weather") };
  for (let given = [true]; given.length; ) {
    told.text = "";
    const stream = client.responses.stream(fields);
    for await (const event of stream) if (event.type === "response.output_text.delta") told.text += event.delta;
    const response = await stream.finalResponse();
    given = response.output.map((item) => answer(item, told)).filter(Boolean);
    input.push(...response.output, ...given);
    read(response, told);
  }
});

/** What a tool gives, if the item is a call. */
function answer(item, told) {
  const reply = { type: `${item.type}_output`, call_id: item.call_id };
  switch (item.type) {
    case "function_call":
      return { ...reply, output: hands(told)[item.name](JSON.parse(item.arguments)) };
    case "custom_tool_call":
      return { ...reply, output: hands(told)[item.name](item.input) };
    case "tool_search_call":
      told.query = item.arguments.query;
      return { ...words.FOUND_TOOLS, call_id: item.call_id };
  }
}

/** The response at its end. The text was heard by its deltas: it is the same. */
function read(response, told) {
  const parts = response.output.filter((item) => item.type === "message").flatMap((item) => item.content);
  const thoughts = response.output.filter((item) => item.type === "reasoning").flatMap((item) => item.summary);
  told.reasoning = (told.reasoning ?? "") + thoughts.map((part) => part.text).join("");
  told.refusal = parts.map((part) => part.refusal ?? "").join("");
  told.ended = response.incomplete_details?.reason;
  told.parsed = response.output_parsed;
  if (response.output_text !== told.text) told.read = response.output_text;
  if (response.error) told.error = said(response.error);
}
