// Values of a history as shares, fills and rates.

import type { History, Machine, Measure } from "./api";

/** States of threads, in the order in which they are drawn. Machines have some of them. */
const STATES = [
  "running", "ready", "pipeline", "memory", "waiting", "network", "idle", "stopped",
] as const;

export const COLOURS: Record<string, string> = {
  running: "#2f9e44",
  ready: "#f2b705",
  pipeline: "#f2b705",
  memory: "#e8590c",
  waiting: "#8aa4c8",
  network: "#8aa4c8",
  stopped: "#e3e6ea",
  busy: "#2f9e44",
  aborted: "#d9480f",
  stalled: "#ae3ec9",
  idle: "#d5dae1",
};

/** Colours of lines that are told apart easily, in turn. */
export const LINES = [
  "#1971c2", "#e8590c", "#2f9e44", "#9c36b5", "#c2255c", "#0c8599", "#845b00", "#495057",
  "#5f3dc4", "#66a80f", "#f03e3e",
];

/** The states that threads of a machine have. */
export function statesOf(machine: Machine): string[] {
  const measured = new Set(
    machine.measures
      .filter(({ part, kind }) => kind === "state" && machine.parts[part]!.kind === "thread")
      .map(({ name }) => name),
  );
  return STATES.filter((state) => state === "stopped" || measured.has(state));
}

/** Whether a part is one of the whole machine, and not of an engine. */
export const isOwn = (machine: Machine, part: number) => (machine.parts[part]!.within ?? 0) === 0;

export const isLevel = (measure: Measure) => typeof measure.kind === "object";

/** The numbers of the measures of a part. */
export function measuresOf(machine: Machine, part: number): number[] {
  return machine.measures.flatMap((measure, number) => (measure.part === part ? [number] : []));
}

/** Whether something is measured of a part that its box shows: use, fill, power or a count. */
export const isMeasured = (machine: Machine, part: number) =>
  machine.measures.some((measure) => measure.part === part && measure.kind !== "state");

/** A text that is no wider than this, cut with an ellipsis if it has to be. */
export function fitting(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text;
  let length = text.length - 1;
  while (length > 0 && measure(`${text.slice(0, length)}…`) > width) length--;
  return `${text.slice(0, length)}…`;
}

/** The last interval of a history that ends at or before a cycle. */
export function intervalAt(history: History, cycle: number): number {
  let found = 0;
  for (let i = 0; i + 1 < history.cycles.length; i++) if (history.cycles[i]! < cycle) found = i;
  return found;
}

/** The share of each interval in which a part was in use, or the mean fill of a queue. */
export function rates(history: History, measure: number): number[] {
  const { cycles, values } = history;
  return (values[measure] ?? []).map((value, i) => value / Math.max(1, cycles[i + 1]! - cycles[i]!));
}

/** The state in which a part was most of an interval. */
export function stateIn(history: History, machine: Machine, part: number, i: number): string {
  let most = 0;
  let state = "stopped";
  for (const number of measuresOf(machine, part)) {
    const measure = machine.measures[number]!;
    const value = history.values[number]?.[i] ?? 0;
    if (measure.kind === "state" && value > most) [most, state] = [value, measure.name];
  }
  return state;
}
