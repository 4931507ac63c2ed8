// The request as a program, for those who want to have it elsewhere.

const KNOWN = new Set(( // parameters of the Python library; it refuses others, such as those of Codex
  "background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls " +
  "previous_response_id prompt prompt_cache_key reasoning safety_identifier service_tier store stream stream_options temperature text " +
  "tool_choice tools top_logprobs top_p truncation user"
).split(" "));
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function curl(body, { base, key }) {
  const lines = [`curl -N ${base}/responses`, `-H 'Content-Type: application/json'`];
  if (key) lines.push(`-H "Authorization: Bearer $AM_KEY"`);
  lines.push(`-d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ") + "\n";
}

export function python(body, { base, key }) {
  const known = Object.entries(body).filter(([name]) => KNOWN.has(name));
  const others = Object.fromEntries(Object.entries(body).filter(([name]) => !KNOWN.has(name)));
  if (Object.keys(others).length) known.push(["extra_body", others]);
  const given = known.map(([name, value]) => `    ${name}=${literal(value, 1)},`);
  const lines = [
    ...(key ? ["import os", ""] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${base}", api_key=${key ? 'os.environ["AM_KEY"]' : '"none"'})`,
  ];
  if (body.stream) {
    lines.push("stream = client.responses.create(", ...given, ")", "for event in stream:",
      '    if event.type == "response.output_text.delta":', '        print(event.delta, end="", flush=True)');
  } else {
    lines.push("response = client.responses.create(", ...given, ")", "print(response.output_text)");
  }
  return lines.join("\n") + "\n";
}

export function javascript(body, { base, key }) {
  const given = JSON.stringify(body, null, 2);
  const lines = [
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: "${base}", apiKey: ${key ? "process.env.AM_KEY" : '"none"'} });`,
  ];
  if (body.stream) {
    lines.push(`const stream = await client.responses.create(${given});`, "for await (const event of stream) {",
      '  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);', "}");
  } else {
    lines.push(`const response = await client.responses.create(${given});`, "console.log(response.output_text);");
  }
  return lines.join("\n") + "\n";
}

/** A JSON value as Python writes it. */
function literal(value, depth) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const entries = Array.isArray(value)
    ? value.map((entry) => literal(entry, depth + 1))
    : Object.entries(value).map(([name, entry]) => `${JSON.stringify(name)}: ${literal(entry, depth + 1)}`);
  if (!entries.length) return open + close;
  const indent = "    ".repeat(depth + 1);
  return `${open}\n${entries.map((entry) => `${indent}${entry},`).join("\n")}\n${"    ".repeat(depth)}${close}`;
}
