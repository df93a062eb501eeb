// Asks the server. Every answer is JSON; a refusal becomes an error with its code and words.
export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "same-origin", ...options });
  } catch {
    throw new Refusal("unreachable", "The inspector does not answer. Is it still running?");
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
export const post = async (path, body) =>
  JSON.parse(await ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
