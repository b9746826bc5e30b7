import type { History, Machine, Part, State } from "./api";
import { COLOURS, intervalAt, isLevel, measuresOf, rates, stateIn } from "./series";

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
    ["memory", "unit", "bus", "queue", "port"].includes(part.kind) ? [number] : [],
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
          <div class="engine">
            <b>{machine.parts[engine]!.name}</b>
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

interface UnitProps {
  part: Part;
  number: number;
  machine: Machine;
  history: History;
  at: number;
}

function Unit({ part, number, machine, history, at }: UnitProps) {
  const level = measuresOf(machine, number).find((m) => isLevel(machine.measures[m]!));
  const kind = level === undefined ? null : machine.measures[level]!.kind;
  const places = kind !== null && typeof kind === "object" ? kind.level.places : 0;
  const fill = level === undefined ? 0 : (rates(history, level)[at] ?? 0);
  return (
    <div class={`unit ${part.kind}`}>
      <span>{part.name}</span>
      <Bar part={number} machine={machine} history={history} at={at} name="busy" />
      {places > 0 && (
        <div class="fill" title={`${fill.toFixed(1)} of ${places} places taken`}>
          <i style={{ width: `${Math.min(100, (100 * fill) / places)}%` }} />
        </div>
      )}
    </div>
  );
}
