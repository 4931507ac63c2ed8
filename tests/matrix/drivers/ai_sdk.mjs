// The AI SDK: `streamText` over @ai-sdk/openai, or over @ai-sdk/open-responses.
import { hands, load, said, serve, words } from "./driving.mjs";

const open = process.argv[4] === "open-responses";
const { streamText, tool, stepCountIs, Output } = await load("ai");
const { z } = await load("zod");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenResponses } = await load("@ai-sdk/open-responses");

const City = z.object({ city: z.string() });
const Weather = z.object({ city: z.string(), degrees: z.number().int() });
const thinking = { reasoningEffort: "low", reasoningSummary: "auto" };
const forced = { forceReasoning: true, include: ["reasoning.encrypted_content"] }; // it knows OpenAI's names only

await serve(async (task, told) => {
  const openai = createOpenAI({ baseURL: task.url, apiKey: "any" });
  const content = [{ type: "text", text: words.PROMPT }];
  if (task.picture) content.push({ type: "file", mediaType: "image/png", data: words.PICTURE });
  const result = streamText({
    model: open
      ? createOpenResponses({ name: "proxy", url: `${task.url}/responses`, apiKey: "any" })(task.model)
      : openai.responses(task.model),
    messages: [{ role: "user", content }],
    tools: Object.assign({}, ...task.tools.map((name) => tools(openai, told)[name])),
    output: task.schema ? Output.object({ schema: Weather, name: "weather" }) : undefined,
    stopWhen: stepCountIs(5),
    maxRetries: task.retries,
    onError: () => {},
    providerOptions: task.thinks
      ? { openai: { store: false, ...thinking, ...forced }, proxy: thinking }
      : { openai: { store: false } },
  });
  for await (const part of result.fullStream) hear(part, told);
  if (task.schema) told.parsed = await result.output;
});

/** Its tools, by the names that cells call them. */
function tools(openai, told) {
  const { get_weather, run_code } = hands(told);
  const knows = (more) => tool({ description: "The weather of a city.", inputSchema: City, execute: get_weather, ...more });
  const data = { type: "data", data: words.PIXEL };
  const picture = { type: "content", value: [{ type: "file", mediaType: "image/png", data }] };
  const taken = { execute: () => "a picture", toModelOutput: () => picture };
  const search = (input) => {
    told.query = input.arguments.query;
    return { tools: [{ type: "function", name: "get_weather", parameters: words.WEATHER.parameters }] };
  };
  const found = { providerOptions: { openai: { deferLoading: true } } };
  const namespace = { providerOptions: { openai: { namespace: { name: "sky", description: "Of the sky." } } } };
  return {
    weather: { get_weather: knows() },
    custom: { run_code: openai.tools.customTool({ ...words.TOOLS.custom, execute: run_code }) },
    namespace: { look_up: knows(namespace) },
    search: {
      tool_search: openai.tools.toolSearch({ ...words.TOOLS.search, execute: search }),
      get_weather: knows(found),
    },
    picture: { take_picture: tool({ description: "…", inputSchema: z.object({}), ...taken }) },
  };
}

/** A part of a stream. */
function hear(part, told) {
  if (part.type === "start-step") told.text = "";
  else if (part.type === "text-delta") told.text += part.text;
  else if (part.type === "reasoning-delta") told.reasoning = (told.reasoning ?? "") + part.text;
  else if (part.type === "error" || part.type === "tool-error") told.error = said(part.error);
  else if (part.type === "finish" && !told.error) told.ended = part.rawFinishReason;
}
