// What both Node drivers share: the task comes in as JSON, each cell is tried, what the client has goes out as JSON.
// usage: node <driver>.mjs <node_modules> [more] < task.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules] = process.argv.slice(2);
const task = JSON.parse(readFileSync(0, "utf8"));
const resolve = createRequire(path.join(path.resolve(modules), "anchor.js")).resolve;

export const load = (name) => import(pathToFileURL(resolve(name)).href);
export const lines = task.lines;
export const baseURL = `${task.url}/v1`;
export const degrees = (city) => `21 degrees in ${city}`;

export const thrown = (error) => ({ threw: error.constructor.name, error: error.message });

/** Try every cell of the task. */
export async function runCells(drives) {
  const told = {};
  for (const [cell, model] of Object.entries(task.cells)) {
    try {
      told[cell] = await drives[cell](model);
    } catch (error) {
      told[cell] = thrown(error);
    }
  }
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}
