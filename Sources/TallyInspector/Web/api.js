// Asks the server. Every answer is JSON; a refusal becomes an error with its code and words.
export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export const unreachable = () => new Refusal("unreachable", "The inspector does not answer. Is it still running?");

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
  const text = await response.text();
  if (response.ok) return text;
  let error;
  try {
    error = JSON.parse(text).error;
  } catch {
    error = { code: "failed", message: text };
  }
  throw new Refusal(error.code, error.message);
}

export function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

export const getText = (path, parameters) => ask(address(path, parameters));
export const get = async (path, parameters) => JSON.parse(await getText(path, parameters));
export const post = async (path, body, signal) =>
  JSON.parse(await ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal }));

// What takes long comes in steps, with or without entries: asks from a place on until there is a page of entries, or
// for three seconds. The answer is the last one, with the entries of all: where it has no `next`, there is no more.
export async function page(path, parameters, { place, entries, size = 50 }) {
  const end = performance.now() + 3000, found = [];
  let answer, from = parameters[place];
  do {
    answer = await get(path, { ...parameters, [place]: from, limit: size - found.length });
    found.push(...answer[entries]);
    from = answer.next;
  } while (from && found.length < size && performance.now() < end);
  return { ...answer, [entries]: found };
}
