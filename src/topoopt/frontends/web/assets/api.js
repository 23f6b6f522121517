/* The API: one question at a time, the newest; a refusal is an error with the word that it is in. */
export class Refused extends Error {
  constructor(field, message) { super(message); this.field = field; }
}
export class Gone extends Error {}

let asking = null;

export async function get(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Gone("The server does not answer. The last answer stays; asking again as soon as it is back.");
  }
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => ({ field: null, message: `the server says ${answer.status}` }));
  throw new Refused(said.field, said.message);
}

/* The answer to a question with its charts; a newer question calls an older one off. */
export async function estimate(words) {
  asking?.abort();
  asking = new AbortController();
  return get(`/api/page?${new URLSearchParams(words)}`, { signal: asking.signal });
}

export function post(path, words) {
  return get(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(words) });
}
