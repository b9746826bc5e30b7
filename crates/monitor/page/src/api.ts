// What the server says, and how it is asked. Paths are relative: the page is at /TOKEN/.

export type PartKind =
  | "machine" | "engine" | "thread" | "memory" | "unit" | "bus" | "queue" | "port";

export interface Part {
  name: string;
  kind: PartKind;
  within: number | null;
}

export type MeasureKind = "state" | "busy" | "count" | "energy" | { level: { places: number } };

export interface Measure {
  part: number;
  name: string;
  kind: MeasureKind;
}

export interface Place {
  source: number;
  line: number;
}

export interface Listing {
  name: string;
  instructions: { text: string; places: Place[] }[];
  labels: [string, number][];
  sources: { name: string; text: string | null }[];
}

export interface Machine {
  name: string;
  hertz: number;
  parts: Part[];
  measures: Measure[];
  threads: { name: string; part: number }[];
  listings: Listing[];
  memories: { name: string; words: number; addresses: number }[];
}

export interface Thread {
  part: number;
  state: string;
  listing: number | null;
  address: number;
  waits_for: string;
  instructions: number;
}

export interface Breakpoint {
  number: number;
  text: string;
  listing: number | null;
  addresses: number[];
}

export interface State {
  cycle: number;
  running: boolean;
  speed: number | null;
  said: string;
  to_come: number;
  done: number;
  thread: number;
  threads: Thread[];
  now: number[];
  breakpoints: Breakpoint[];
  left: { packet: number; verdict: string; bytes: number }[];
  registers: { register: string; names: string[]; value: number }[];
}

export interface Table {
  path: string;
  kind: string;
  entries: number | null;
  size: number | null;
}

/** A row of a table. `entry` is its text in table files; `state` is what packets made of it. */
export interface Row {
  key: string;
  entry: string;
  fields: [string, string][];
  state?: [string, string][];
  age_ns?: number;
  left_ns?: number;
}

/** Differences between samples: `values[measure][i]` happened from `cycles[i]` to `cycles[i + 1]`. */
export interface History {
  cycles: number[];
  values: number[][];
}

async function answer<T>(response: Response): Promise<T> {
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as T;
}

async function get<T>(path: string): Promise<T> {
  return answer<T>(await fetch(`api/${path}`));
}

export const machine = () => get<Machine>("machine");
export const state = (thread: number) => get<State>(`state?thread=${thread}`);
export const history = (from: number, to: number, points: number) =>
  get<History>(`history?from=${Math.floor(from)}&to=${Math.ceil(to)}&points=${points}`);
export const memory = (number: number, address: number, count: number) =>
  get<{ words: number[] }>(`memory?memory=${number}&address=${address}&count=${count}`);

export const tables = async () => (await get<{ tables: Table[] }>("tables")).tables;
export const entries = (table: number) => get<{ rows: Row[]; more: boolean }>(`entries?table=${table}`);

/** Executes a command of the debugger; what it says is the answer. */
export async function command(line: string): Promise<string> {
  const response = await fetch("api/command", { method: "POST", body: line });
  return (await answer<{ text: string }>(response)).text;
}

export async function run(running: boolean, speed: number | null): Promise<void> {
  const how = running ? `run?speed=${speed ?? ""}` : "pause";
  await answer<unknown>(await fetch(`api/${how}`, { method: "POST" }));
}
