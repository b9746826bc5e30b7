import { useState } from "preact/hooks";
import type { Machine, State } from "./api";

interface Props {
  machine: Machine;
  state: State;
  run: (running: boolean, speed: number | null) => Promise<void>;
  command: (line: string) => Promise<void>;
}

/** Speeds in cycles a second; `null` is as fast as the simulator can. */
const SPEEDS: [string, number | null][] = [
  ["as fast as it can", null],
  ["1,000,000 cycles/s", 1_000_000],
  ["100,000 cycles/s", 100_000],
  ["10,000 cycles/s", 10_000],
  ["1,000 cycles/s", 1_000],
];

export function Controls({ machine, state, run, command }: Props) {
  const [speed, setSpeed] = useState(0);
  const chosen = SPEEDS[speed]![1];
  const microseconds = (state.cycle / machine.hertz) * 1e6;
  const rate = state.cycle > 0 ? state.done / microseconds : 0;
  const still = state.running;
  return (
    <header>
      <h1>{machine.name}</h1>
      <button id="run" onClick={() => void run(!state.running, chosen)}>
        {state.running ? "Pause" : "Run"}
      </button>
      <button disabled={still} onClick={() => void command("step")} title="An instruction of the thread">
        Step
      </button>
      <button disabled={still} onClick={() => void command("cycle")} title="A cycle of the main clock">
        Cycle
      </button>
      <button disabled={still} onClick={() => void command("cycle 100")}>100 cycles</button>
      <button disabled={still} onClick={() => void command("next")} title="Until a packet has left">
        Next packet
      </button>
      <select
        aria-label="Speed"
        onChange={(event) => {
          const speed = Number(event.currentTarget.value);
          setSpeed(speed);
          if (state.running) void run(true, SPEEDS[speed]![1]);
        }}
      >
        {SPEEDS.map(([name], number) => (
          <option value={number}>{name}</option>
        ))}
      </select>
      <dl>
        <dt>cycle</dt>
        <dd id="cycle">{state.cycle.toLocaleString("en")}</dd>
        <dt>time</dt>
        <dd>{microseconds.toFixed(2)} us</dd>
        <dt>packets</dt>
        <dd>
          <span id="done">{state.done.toLocaleString("en")}</span> left, {state.to_come} to come
        </dd>
        <dt>rate</dt>
        <dd>{rate.toFixed(3)} MPPS</dd>
      </dl>
      <output id="said">{state.said}</output>
    </header>
  );
}
