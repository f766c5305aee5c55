// The server's API. The token is kept in the tab's session storage, which a reload keeps and closing the tab clears: not
// in a cookie, not in local storage, not in an address.
import type { Problem, ReadPath, SignIn } from "./api_types";

const KEPT_AS = "sharewell-token";

let token = sessionStorage.getItem(KEPT_AS) ?? "";
const listeners = new Set<() => void>();

export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export function hasToken(): boolean {
  return token !== "";
}

export function setToken(value: string): void {
  token = value;
  if (value === "") sessionStorage.removeItem(KEPT_AS);
  else sessionStorage.setItem(KEPT_AS, value);
  for (const listener of listeners) listener();
}

export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function authorised(headers: Record<string, string> = {}): Record<string, string> {
  return token === "" ? headers : { ...headers, Authorization: `Bearer ${token}` };
}

async function failure(response: Response): Promise<ApiError> {
  let words = `the server answered ${response.status} ${response.statusText}`;
  try {
    words = ((await response.json()) as Problem).detail || words;
  } catch {
    // No problem document: the status has to do.
  }
  return new ApiError(response.status, words);
}

async function ask(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, signal: signal ?? null, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "the server does not answer");
  }
  // A sign-in that is over (the server was started again): the page is read-only, and says so.
  if (response.status === 401 && token !== "" && new Headers(init.headers).get("Authorization") === `Bearer ${token}`) setToken("");
  if (!response.ok) throw await failure(response);
  return response;
}

type Query = Record<string, string | number | undefined>;

export async function get<T>(path: ReadPath, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await ask(withQuery(path, query), { headers: authorised() }, signal)).json() as Promise<T>;
}

function withQuery(path: string, query: Query): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") words.set(key, String(value));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

export async function post<T>(path: string, body?: unknown, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const raw = body instanceof Blob;
  const init: RequestInit = {
    method: "POST",
    headers: authorised({ "Content-Type": raw ? "application/octet-stream" : "application/json" }),
    body: body === undefined ? "" : raw ? body : JSON.stringify(body),
  };
  return (await ask(withQuery(path, query), init, signal)).json() as Promise<T>;
}

/** Exchanges the code of a link that signs in; gives back whose it is. The code works once. */
export async function signIn(code: string): Promise<string> {
  const answer = await ask("/api/v1/sign-in", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }),
  });
  const session = (await answer.json()) as SignIn;
  setToken(session.secret);
  return session.user;
}

export interface LogPart {
  text: string;
  first: number;
  next: number;
  ended: boolean;
}

export async function readLog(job: number, stream: "out" | "err", offset: number, most: number,
                              signal?: AbortSignal): Promise<LogPart> {
  const path = withQuery(`/api/v1/jobs/${job}/logs`, { stream, offset, most });
  const response = await ask(path, { headers: authorised() }, signal);
  const header = (name: string) => Number(response.headers.get(name) ?? offset);
  // Bytes that are no UTF-8 are shown as what they are not.
  const text = new TextDecoder().decode(await response.arrayBuffer());
  return { text, first: header("X-First-Offset"), next: header("X-Next-Offset"),
           ended: response.headers.get("X-Ended") === "1" };
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
