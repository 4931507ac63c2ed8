// The AI SDK's `Output.object`, whole and streamed, for every model it is told of. Prints one JSON report.
// Usage: node ai_sdk.mjs <node_modules> <base URL> < models.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, baseURL] = process.argv.slice(2);
const resolve = createRequire(path.join(path.resolve(modules), "anchor.js")).resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { generateText, streamText, Output } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { z } = await load("zod");

const openai = createOpenAI({ baseURL, apiKey: "any" });
const shape = z.object({ city: z.string(), degrees: z.number().int() });

async function asked(name) {
  const ask = { model: openai.responses(name), prompt: "How is Rome?", maxRetries: 0, onError: () => {} };
  const options = { ...ask, output: Output.object({ schema: shape, name: "report", description: "The weather." }) };
  const whole = (await generateText(options)).output;
  const stream = streamText(options);
  const partial = [];
  for await (const object of stream.partialOutputStream) partial.push(object);
  return { whole, streamed: await stream.output, last: partial.at(-1) };
}

const report = {};
for (const name of JSON.parse(readFileSync(0, "utf8"))) {
  report[name] = await asked(name).catch((error) => ({ threw: `${error.name}: ${error.message}` }));
}
process.stdout.write(JSON.stringify(report), () => process.exit(0));
