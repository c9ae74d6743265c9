/** Asking the server that this page came from: one question at a time, and of those that wait only the newest. */

export class AskError extends Error {}

/**
 * @template [A=Answer]
 * @param {{token: string}} live what the page was given to ask with
 * @param {object} question
 * @param {string} path what kind of question it is
 * @param {(path: string, options: RequestInit) => Promise<Response>} fetcher
 * @returns {Promise<A>}
 */
export async function ask({ token }, question, path = "/api/ask", fetcher = fetch) {
  let response;
  try {
    response = await fetcher(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Headatlas-Token": token },
      body: JSON.stringify(question),
    });
  } catch {
    throw new AskError("The server does not answer. Is `headatlas explore` still running?");
  }
  const { status } = response;
  const answer = await response.json().catch(() => ({ error: `The server answered ${status}.` }));
  if (!response.ok) throw new AskError(answer.error);
  return answer;
}

/**
 * Calls `work` with the newest value; a value that is overtaken while it waits is dropped.
 * @template T
 */
export class Newest {
  /** @param {(value: T) => Promise<void>} work */
  constructor(work) {
    this.work = work;
    /** @type {{value: T}|null} */
    this.waiting = null;
    /** @type {Promise<void>|null} */
    this.running = null;
  }

  /** @param {T} value @returns {Promise<void>} settled when nothing is left to do */
  give(value) {
    this.waiting = { value };
    this.running ??= this.#run();
    return this.running;
  }

  async #run() {
    try {
      while (this.waiting) {
        const { value } = this.waiting;
        this.waiting = null;
        await this.work(value);
      }
    } finally {
      this.running = null;
    }
  }
}
