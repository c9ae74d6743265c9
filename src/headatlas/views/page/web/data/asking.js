/** Asking the server that this page came from: one question at a time, and of those that wait only the newest. */

export class AskError extends Error {}

/** @param {{token: string}} live what the page was given to ask with */
export async function ask({ token }, question, fetcher = fetch) {
  let response;
  try {
    response = await fetcher("/api/ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Headatlas-Token": token },
      body: JSON.stringify(question),
    });
  } catch {
    throw new AskError("The server does not answer. Is `headatlas explore` still running?");
  }
  const answer = await response.json().catch(() => ({ error: `The server answered ${response.status}.` }));
  if (!response.ok) throw new AskError(answer.error);
  return answer;
}

/** Calls `work` with the newest value it was given; one that is overtaken while it waits is never asked. */
export class Newest {
  constructor(work) {
    this.work = work;
    this.waiting = null;
    this.running = null;
  }

  /** @returns {Promise<void>} when nothing is left to do */
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
