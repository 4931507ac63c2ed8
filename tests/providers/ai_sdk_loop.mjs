// The AI SDK in a tool loop of three steps, whole and streamed, for every model it is told of. Prints one JSON report.
// Usage: node ai_sdk_loop.mjs <node_modules> <base URL> < models.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, baseURL] = process.argv.slice(2);
const resolve = createRequire(path.join(path.resolve(modules), "anchor.js")).resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { generateText, streamText, stepCountIs, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { z } = await load("zod");

const openai = createOpenAI({ baseURL, apiKey: "any" });
const get_weather = tool({
  description: "The weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `fine in ${city}`,
});
const carrying = {
  store: false,
  include: ["reasoning.encrypted_content"],
  reasoningEffort: "low",
  reasoningSummary: "auto",
  forceReasoning: true, // it knows OpenAI's own names only
};

async function asked(name) {
  const ask = { model: openai.responses(name), prompt: "How is Rome?", tools: { get_weather }, maxRetries: 0 };
  const options = { ...ask, stopWhen: stepCountIs(5), providerOptions: { openai: carrying }, onError: () => {} };
  const told = (steps) => steps.map((step) => [step.reasoningText ?? "", step.text]);
  return [told((await generateText(options)).steps), told(await streamText(options).steps)];
}

const report = {};
for (const name of JSON.parse(readFileSync(0, "utf8"))) {
  report[name] = await asked(name).catch((error) => `${error.name}: ${error.message}`);
}
process.stdout.write(JSON.stringify(report), () => process.exit(0));
