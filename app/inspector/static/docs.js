// The page about the API, made from /openapi.json: every operation, and every schema as a table of its members.

const FIRST = ["CreateResponse", "Response", "Event", "Error"]; // what most readers look for
const REFERENCE = "#/components/schemas/";

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

/** A sentence with its `names` as code. */
function prose(text = "") {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

function separated(parts, separator) {
  return parts.flatMap((part, index) => (index ? [separator, ...part] : part));
}

/** What a value may be, in words. References are links. */
function kindOf(schema) {
  if (schema.$ref) {
    const name = schema.$ref.replace(REFERENCE, "");
    return [element("a", { href: `#${name}` }, name)];
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return separated(either.map(kindOf), " or ");
  if ("const" in schema) return [JSON.stringify(schema.const)];
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(" or ")];
  if (schema.contentSchema) return ["JSON of ", ...kindOf(schema.contentSchema)];
  if (schema.type === "array") return schema.items ? ["list of ", ...kindOf(schema.items)] : ["list"];
  const limits = [
    ["minimum", "from"], ["maximum", "to"], ["minLength", "length from"], ["maxLength", "length to"],
  ];
  const within = limits.filter(([key]) => key in schema).map(([key, word]) => `${word} ${schema[key]}`);
  return [[[schema.type].flat().join(" or ") || "any", ...within].join(", ")];
}

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

function members(schema) {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties).map(([name, member]) => {
    const notes = prose(member.description);
    if (member.default !== undefined && member.default !== null) notes.push(` Default: ${JSON.stringify(member.default)}.`);
    if (required.has(name)) notes.unshift("Required. ");
    return element("tr", {}, element("td", {}, name), element("td", { className: "type" }, ...kindOf(member)), element("td", {}, ...notes));
  });
  return table(["member", "value", "meaning"], rows);
}

function schemaSection([name, schema]) {
  const content = schema.properties ? members(schema) : element("p", {}, ...kindOf(schema));
  return element("section", {}, element("h3", { id: name }, name), element("p", {}, ...prose(schema.description)), content);
}

function contentOf(answer) {
  const contents = Object.entries(answer.content ?? {});
  const kinds = contents.map(([type, { schema, itemSchema }]) => [
    contents.length > 1 ? `${type}: ` : "",
    ...kindOf(schema ?? itemSchema.properties.data),
  ]);
  return separated(kinds, element("br"));
}

function operationSection({ title, id, operation }) {
  const body = operation.requestBody?.content["application/json"].schema;
  const rows = Object.entries(operation.responses).map(([status, answer]) =>
    element("tr", {}, element("td", {}, status), element("td", { className: "type" }, ...contentOf(answer)), element("td", {}, ...prose(answer.description))),
  );
  const key = operation.security?.length === 0 ? "Needs no key." : "";
  return element(
    "section",
    {},
    element("h3", { id }, title),
    element("p", {}, ...prose(operation.summary), ". ", key),
    ...(body ? [element("p", {}, "Body: ", ...kindOf(body))] : []),
    table(["status", "content", "meaning"], rows),
  );
}

async function show() {
  const base = `${location.origin}/v1`;
  document.getElementById("base").textContent = base;
  document.getElementById("example").textContent = `curl ${base}/responses \\
  -H "Authorization: Bearer $AM_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "NAME", "input": "Hello!"}'`;
  const { paths, components } = await (await fetch("/openapi.json")).json();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, id: operation.operationId, operation })),
  );
  const links = operations.map(({ title, id, operation }) => element("li", {}, element("a", { href: `#${id}` }, title), " ", ...prose(operation.summary)));
  document.getElementById("contents").append(element("ul", {}, ...links));
  document.getElementById("operations").append(...operations.map(operationSection));
  const place = ([name]) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const schemas = Object.entries(components.schemas).sort((one, other) => place(one) - place(other));
  document.getElementById("schemas").append(...schemas.map(schemaSection));
  document.getElementById(location.hash.slice(1))?.scrollIntoView(); // it was not there when the page was loaded
}

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
show().catch((error) => (document.getElementById("trouble").textContent = `The description could not be shown: ${error.message}`));
