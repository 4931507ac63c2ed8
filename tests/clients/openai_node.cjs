// The openai package for Node, driven through everything it offers on responses. Prints one JSON report.
// Usage: node openai_node.cjs <node_modules> <base URL> < behaviours.json
"use strict";
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const path = require("node:path");

const [modules, baseURL] = process.argv.slice(2);
const load = createRequire(path.join(path.resolve(modules), "anchor.js"));
const OpenAI = load("openai");
const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
const { behaviours, tool } = JSON.parse(readFileSync(0, "utf8"));

/** What a step gave, or how it threw. */
async function attempt(step) {
  try {
    return await step();
  } catch (error) {
    return { threw: error.constructor.name, message: error.message, status: error.status, code: error.code };
  }
}

const types = (response) => response.output.map((item) => item.type);

async function helped(request) {
  const stream = client.responses.stream({ model: "demo", ...request });
  const seen = [];
  for await (const event of stream) seen.push(event.type);
  const end = await stream.finalResponse();
  return { status: end.status, items: types(end), last: seen.at(-1), text: end.output_text };
}

async function plain(request) {
  const stream = await client.responses.create({ model: "demo", stream: true, ...request });
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function whole(request) {
  const end = await client.responses.create({ model: "demo", ...request });
  return { status: end.status, items: types(end) };
}

async function loop(ask) {
  const input = [{ role: "user", content: "think of the weather in Paris" }];
  const first = await ask({ input, tools: [tool] });
  const call = first.output.find((item) => item.type === "function_call");
  input.push(...first.output, { type: "function_call_output", call_id: call.call_id, output: "21 degrees" });
  const second = await ask({ input, tools: [tool] });
  return { name: call.name, arguments: call.arguments, text: second.output_text };
}

async function parsed() {
  const { zodTextFormat } = load("openai/helpers/zod");
  const { z } = load("zod");
  const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number().int().min(1), sunny: z.boolean() }), "weather");
  const request = { model: "demo", input: "the forecast", text: { format } };
  const streamed = await client.responses.stream(request).finalResponse();
  return [(await client.responses.parse(request)).output_parsed, streamed.output_parsed];
}

async function left() {
  const stream = client.responses.stream({ model: "demo", input: "a long story" });
  for await (const event of stream) if (event.type === "response.output_text.delta") break;
  return { aborted: stream.controller.signal.aborted };
}

async function main() {
  const report = { helped: {}, plain: {}, whole: {} };
  for (const [name, request] of Object.entries(behaviours)) {
    report.helped[name] = await attempt(() => helped(request));
    report.plain[name] = await attempt(() => plain(request));
    report.whole[name] = await attempt(() => whole(request));
  }
  report.loop = await attempt(() => loop((request) => client.responses.create({ model: "demo", ...request })));
  report.helpedLoop = await attempt(() =>
    loop((request) => client.responses.stream({ model: "demo", ...request }).finalResponse()),
  );
  report.parsed = await attempt(parsed);
  report.left = await attempt(left);
  report.models = await attempt(async () => (await client.models.list()).data.map((model) => model.id));
  report.unknown = await attempt(() => whole({ model: "demi", input: "hi" }));
  report.unknownHelped = await attempt(() => helped({ model: "demi", input: "hi" }));
  report.busy = await attempt(() => whole({ input: "be busy" }));
  report.stored = await attempt(() => client.responses.retrieve("resp_1"));
  process.stdout.write(JSON.stringify(report));
}

main();
