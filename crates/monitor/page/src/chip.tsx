import type { History, Machine, Part, State } from "./api";
import {
  COLOURS, intervalAt, isLevel, isMeasured, isOwn, measuresOf, rates, stateIn,
} from "./series";

interface Props {
  machine: Machine;
  state: State;
  history: History;
  cursor: number | null;
  thread: number;
  setThread: (thread: number) => void;
}

/** The chip: engines with their threads, and the other parts with their use and their queues. */
export function Chip({ machine, state, history, cursor, thread, setThread }: Props) {
  const at = cursor === null ? history.cycles.length - 2 : intervalAt(history, cursor);
  const engines = machine.parts.flatMap((part, number) => (part.kind === "engine" ? [number] : []));
  const others = machine.parts.flatMap((part, number) =>
    ["memory", "unit", "bus", "queue", "port"].includes(part.kind) &&
    isOwn(machine, number) &&
    isMeasured(machine, number)
      ? [number]
      : [],
  );
  const stateOf = (number: number, part: number) =>
    cursor === null ? state.threads[number]!.state : stateIn(history, machine, part, at);
  return (
    <div class="chip">
      <h2>
        Chip{" "}
        <small>{cursor === null ? "now" : `around cycle ${Math.round(cursor).toLocaleString("en")}`}</small>
      </h2>
      <div class="engines">
        {engines.map((engine) => (
          <div class="engine" style={place(machine.parts[engine]!)}>
            <b title={machine.parts[engine]!.name}>{machine.parts[engine]!.name}</b>
            <Watts part={engine} machine={machine} history={history} at={at} />
            <div class="contexts">
              {machine.threads.map((known, number) => {
                if (machine.parts[known.part]!.within !== engine) return null;
                const now = stateOf(number, known.part);
                const waits = cursor === null ? state.threads[number]!.waits_for : "";
                return (
                  <button
                    class={`context ${number === thread ? "chosen" : ""}`}
                    style={{ background: COLOURS[now] ?? "#fff" }}
                    title={`thread ${known.name}: ${now}${waits && `, waits for ${waits}`}`}
                    onClick={() => setThread(number)}
                  >
                    {machine.parts[known.part]!.name.split(" ").at(-1)}
                  </button>
                );
              })}
            </div>
            <Bar part={engine} machine={machine} history={history} at={at} name="busy" />
            <div class="inner">
              {machine.parts.map((part, number) =>
                part.within === engine && part.kind === "queue" ? (
                  <Fill part={number} machine={machine} history={history} at={at} />
                ) : null,
              )}
            </div>
          </div>
        ))}
      </div>
      <div class="units">
        {others.map((number) => (
          <Unit part={machine.parts[number]!} number={number} machine={machine} history={history} at={at} />
        ))}
      </div>
    </div>
  );
}

/** Engines that are called by column and row stand there. */
function place(part: Part) {
  const found = /\((\d+),(\d+)\)/.exec(part.name);
  return found ? { gridColumn: Number(found[1]) + 1, gridRow: Number(found[2]) + 1 } : undefined;
}

interface BarProps {
  part: number;
  machine: Machine;
  history: History;
  at: number;
  name: string;
}

/** A bar as long as the share of time in which a part was in use. */
function Bar({ part, machine, history, at, name }: BarProps) {
  const measure = measuresOf(machine, part).find((number) => machine.measures[number]!.name === name);
  if (measure === undefined) return null;
  const share = Math.min(1, rates(history, measure)[at] ?? 0);
  return (
    <div class="share" title={`${name}: ${(100 * share).toFixed(1)} %`}>
      <i style={{ width: `${100 * share}%` }} />
    </div>
  );
}

interface FillProps {
  part: number;
  machine: Machine;
  history: History;
  at: number;
}

/** A bar as long as the fill of a part's queue. */
function Fill({ part, machine, history, at }: FillProps) {
  const level = measuresOf(machine, part).find((m) => isLevel(machine.measures[m]!));
  if (level === undefined) return null;
  const { kind } = machine.measures[level]!;
  const places = typeof kind === "object" ? kind.level.places : 1;
  const fill = rates(history, level)[at] ?? 0;
  return (
    <div class="fill" title={`${machine.parts[part]!.name}: ${fill.toFixed(1)} of ${places} places taken`}>
      <i style={{ width: `${Math.min(100, (100 * fill) / places)}%` }} />
    </div>
  );
}

/** The power of a part, if it has one. */
function Watts({ part, machine, history, at }: FillProps) {
  const energy = measuresOf(machine, part).find((m) => machine.measures[m]!.kind === "energy");
  if (energy === undefined) return null;
  const milliwatts = (rates(history, energy)[at] ?? 0) * machine.hertz * 1e-9;
  return <small class="watts">{milliwatts.toFixed(0)} mW</small>;
}

/** What a part counts, if its box would be blank otherwise. */
function Counted({ part, machine, history, at }: FillProps) {
  const measures = measuresOf(machine, part);
  const [first] = measures;
  if (first === undefined || measures.some((m) => machine.measures[m]!.kind !== "count")) return null;
  const rate = rates(history, first)[at] ?? 0;
  return <small class="count">{`${rate.toFixed(2)} ${machine.measures[first]!.name} a cycle`}</small>;
}

interface UnitProps {
  part: Part;
  number: number;
  machine: Machine;
  history: History;
  at: number;
}

function Unit({ part, number, machine, history, at }: UnitProps) {
  const shared = { part: number, machine, history, at };
  return (
    <div class={`unit ${part.kind}`}>
      <span title={part.name}>{part.name}</span>
      <Watts {...shared} />
      <Bar {...shared} name="busy" />
      <Fill {...shared} />
      <Counted {...shared} />
    </div>
  );
}
