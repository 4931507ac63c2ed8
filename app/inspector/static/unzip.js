// The texts of some files in a ZIP file. Never more than a limit is unpacked, whatever the file says about itself.

const MOST_FILES = 2000;
const TAIL = 65_557; // bytes at the end in which the list of files is announced

/** Yields `[name, text]` of each file whose name, without one folder before it, fits `wanted`; `most` bytes of all. */
export async function* unzipped(file, { wanted, most }) {
  if (file.size > most) throw new Error("The file is larger than 64 MiB.");
  const data = await file.arrayBuffer();
  const view = new DataView(data);
  let left = most;
  let read;
  try {
    read = [...entries(view, data)];
  } catch (error) {
    throw error instanceof RangeError ? new Error("The ZIP file is damaged.") : error;
  }
  for (const { path, method, start, size } of read) {
    const [, name] = /^(?:[^/\\]+\/)?([^/\\]+)$/.exec(path) ?? [];
    if (name === undefined || !wanted.test(name) || path.startsWith("..")) continue;
    const packed = new Blob([data.slice(start, start + size)]);
    const bytes = await bounded(method === 8 ? packed.stream().pipeThrough(new DecompressionStream("deflate-raw")) : packed.stream(), left);
    left -= bytes.size;
    yield [name, await bytes.text()];
  }
}

function* entries(view, data) {
  let end = view.byteLength - 22;
  while (end >= 0 && end >= view.byteLength - TAIL && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw new Error("This is no ZIP file.");
  const count = view.getUint16(end + 10, true);
  if (count > MOST_FILES) throw new Error(`The ZIP file has more than ${MOST_FILES} files.`);
  let at = view.getUint32(end + 16, true);
  for (let each = 0; each < count; each += 1) {
    if (view.getUint32(at, true) !== 0x02014b50) throw new RangeError();
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    if (flags & 1 || ![0, 8].includes(method)) throw new Error("The ZIP file is encrypted or packed in a way that this page cannot read.");
    const [nameSize, more, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const local = view.getUint32(at + 42, true);
    const path = new TextDecoder().decode(new Uint8Array(data, at + 46, nameSize));
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    yield { path, method, start, size: view.getUint32(at + 20, true) };
    at += 46 + nameSize + more + comment;
  }
}

/** What the stream yields, up to this many bytes. */
async function bounded(stream, most) {
  const pieces = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error("The ZIP file is damaged.");
    });
    if (done) return new Blob(pieces);
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new Error("The recording is larger than 64 MiB.");
    }
    pieces.push(value);
  }
}
