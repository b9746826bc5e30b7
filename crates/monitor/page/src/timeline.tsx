import { useEffect, useRef } from "preact/hooks";
import type { History, Machine, State } from "./api";
import type { View } from "./app";
import { COLOURS, fitting, measuresOf, statesOf } from "./series";

interface Props {
  machine: Machine;
  state: State;
  history: History;
  view: View;
  setView: (view: View) => void;
  cursor: number | null;
  setCursor: (cycle: number | null) => void;
  thread: number;
  setThread: (thread: number) => void;
}

const ROW = 14;
const GAP = 4;
const LABELS = 44;
const AXIS = 18;
/** Pixels of a canvas in a direction, at most. */
const LARGEST = 32000;

/** The y of each thread: engines are apart. */
function rows(machine: Machine): number[] {
  let y = 2;
  return machine.threads.map((thread, number) => {
    const engine = machine.parts[thread.part]!.within;
    const before = machine.threads[number - 1];
    if (before && machine.parts[before.part]!.within !== engine) y += GAP;
    const at = y;
    y += ROW;
    return at;
  });
}

function draw(canvas: HTMLCanvasElement, props: Props) {
  const { machine, state, history, view, cursor, thread } = props;
  const ys = rows(machine);
  const states = statesOf(machine);
  const width = canvas.clientWidth;
  const height = (ys.at(-1) ?? 0) + ROW + AXIS;
  // Browsers draw nothing on a canvas that is larger.
  const scale = Math.min(window.devicePixelRatio || 1, LARGEST / Math.max(width, height, 1));
  canvas.style.height = `${height}px`;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const c = canvas.getContext("2d")!;
  c.scale(scale, scale);
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  const wide = (text: string) => c.measureText(text).width;
  const x = (cycle: number) =>
    LABELS + ((cycle - view.from) / (view.to - view.from)) * (width - LABELS);
  machine.threads.forEach((known, number) => {
    const y = ys[number]!;
    c.fillStyle = number === thread ? "#111" : "#667";
    c.font = `${number === thread ? "bold " : ""}11px system-ui, sans-serif`;
    c.fillText(fitting(known.name, LABELS - 8, wide), 4, y + ROW / 2);
    const measures = measuresOf(machine, known.part).filter(
      (measure) => machine.measures[measure]!.kind === "state",
    );
    c.save();
    c.beginPath();
    c.rect(LABELS, y, width - LABELS, ROW - 1);
    c.clip();
    // What is measured of no other state is stopped.
    const [first, last] = [history.cycles[0] ?? 0, history.cycles.at(-1) ?? 0];
    c.fillStyle = COLOURS["stopped"]!;
    c.fillRect(x(first), y, x(last) - x(first), ROW - 1);
    for (let i = 0; i + 1 < history.cycles.length; i++) {
      const from = history.cycles[i]!;
      const to = history.cycles[i + 1]!;
      const [left, right] = [x(from), x(to)];
      let top = y;
      // The state that takes longest is as high as its share.
      for (const name of states) {
        const measure = measures.find((number) => machine.measures[number]!.name === name);
        if (measure === undefined) continue;
        const share = (history.values[measure]?.[i] ?? 0) / (to - from);
        const high = Math.min(share * (ROW - 1), y + ROW - 1 - top);
        c.fillStyle = COLOURS[name]!;
        c.fillRect(left, top, Math.max(0.6, right - left + 0.3), high);
        top += high;
      }
    }
    c.restore();
  });
  const bottom = height - AXIS;
  c.fillStyle = "#556";
  c.textBaseline = "top";
  c.font = "11px system-ui, sans-serif";
  const step = niceStep((view.to - view.from) / 8);
  for (let cycle = Math.ceil(view.from / step) * step; cycle < view.to; cycle += step) {
    c.fillRect(x(cycle), bottom, 1, 4);
    const label = cycle.toLocaleString("en");
    if (x(cycle) + 3 + wide(label) <= width) c.fillText(label, x(cycle) + 3, bottom + 3);
  }
  const mark = (cycle: number, colour: string) => {
    if (cycle < view.from || cycle > view.to) return;
    c.fillStyle = colour;
    c.fillRect(Math.min(x(cycle), width - 1), 0, 1, bottom);
  };
  mark(state.cycle, "#1c7ed6");
  if (cursor !== null) mark(cursor, "#e03131");
}

function niceStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, step)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= step) ?? power;
}

export function Timeline(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => draw(canvas.current!, props));
  useEffect(() => {
    const redraw = () => draw(canvas.current!, latest.current);
    window.addEventListener("resize", redraw);
    return () => window.removeEventListener("resize", redraw);
  }, []);
  const { view, setView, setCursor, state, machine, cursor } = props;
  const cycleAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const share = (event.clientX - box.left - LABELS) / (box.width - LABELS);
    return view.from + Math.max(0, Math.min(1, share)) * (view.to - view.from);
  };
  const zoom = (factor: number, at: number) => {
    const width = Math.max(64, Math.min((view.to - view.from) * factor, 1e10));
    const from = Math.max(0, at - ((at - view.from) / (view.to - view.from)) * width);
    setView({ from, to: from + width, live: view.live && from + width >= state.cycle });
  };
  return (
    <div class="timeline">
      <div class="bar">
        <h2>Threads</h2>
        {statesOf(machine).map((name) => (
          <span class="key">
            <i style={{ background: COLOURS[name] }} />
            {name}
          </span>
        ))}
        <span class="space" />
        <button onClick={() => zoom(0.5, (view.from + view.to) / 2)}>Zoom in</button>
        <button onClick={() => zoom(2, (view.from + view.to) / 2)}>Zoom out</button>
        <button onClick={() => setView({ from: 0, to: Math.max(64, state.cycle), live: false })}>
          All
        </button>
        <button
          class={view.live ? "on" : ""}
          id="live"
          onClick={() => {
            const width = view.to - view.from;
            const to = Math.max(width, state.cycle);
            setCursor(null);
            setView({ from: to - width, to, live: true });
          }}
        >
          Live
        </button>
        <span id="cursor">{cursor === null ? "" : `at cycle ${Math.round(cursor).toLocaleString("en")}`}</span>
      </div>
      <canvas
        ref={canvas}
        id="threads"
        onWheel={(event) => {
          event.preventDefault();
          zoom(event.deltaY > 0 ? 1.25 : 0.8, cycleAt(event));
        }}
        onPointerDown={(event) => {
          (event.target as Element).setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, view, moved: false };
        }}
        onPointerMove={(event) => {
          const began = drag.current;
          if (!began) return;
          const dx = event.clientX - began.x;
          began.moved ||= Math.abs(dx) > 3;
          if (!began.moved) return;
          const width = began.view.to - began.view.from;
          const from = Math.max(
            0,
            began.view.from - (dx / (canvas.current!.clientWidth - LABELS)) * width,
          );
          setView({ from, to: from + width, live: false });
        }}
        onPointerUp={(event) => {
          const began = drag.current;
          drag.current = null;
          if (!began || began.moved) return;
          const y = event.clientY - canvas.current!.getBoundingClientRect().top;
          const row = rows(machine).findLastIndex((top) => top <= y);
          if (row >= 0) props.setThread(row);
          setCursor(cycleAt(event));
          setView({ ...view, live: false });
        }}
      />
    </div>
  );
}
