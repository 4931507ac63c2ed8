// What both Node drivers share: each line of the input is a cell's task, each line of the output what the client has.
// usage: node <driver>.mjs <node_modules> <words.json> [more]
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, spoken] = process.argv.slice(2);
const { resolve } = createRequire(path.join(path.resolve(modules), "anchor.js"));

export const load = (name) => import(pathToFileURL(resolve(name)).href);
export const words = JSON.parse(spoken);

/** The functions behind a client's tools, which note what they were given. */
export function hands(told) {
  const get_weather = ({ city }) => {
    told.calls = [...(told.calls ?? []), city];
    return `21 degrees in ${city}`;
  };
  const run_code = (input) => {
    told.input = (told.input ?? "") + input;
    return words.RAN;
  };
  return { get_weather, look_up: get_weather, run_code, take_picture: () => [words.IMAGE] };
}

/** Answer every task. Whatever the client throws is what its user sees. */
export async function serve(drive) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const told = {};
    try {
      await drive(JSON.parse(line), told);
    } catch (error) {
      told.error = said(error);
    }
    console.log(JSON.stringify(told));
  }
  process.exit(0); // connections of the clients may still be open
}

/** An error with all that a program finds in it. */
export const said = (error) => `${error} ${JSON.stringify(error)}`;
