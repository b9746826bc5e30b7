import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api";
import { Charts } from "./charts";
import { Chip } from "./chip";
import { Code } from "./code";
import { Console } from "./console";
import { Controls } from "./controls";
import { Inspect } from "./inspect";
import { Timeline } from "./timeline";

/** How often a machine that runs is looked at, and one that does not. */
const LIVE = 200;
const STILL = 1000;
/** Intervals of a history that are asked for. */
const POINTS = 400;
/** Cycles that are shown of a machine that runs, unless more were chosen. */
const SHOWN = 20_000;

/** The cycles that are shown. */
export interface View {
  from: number;
  to: number;
  /** Whether the end follows the machine. */
  live: boolean;
}

export function App() {
  const [machine, setMachine] = useState<api.Machine | null>(null);
  const [state, setState] = useState<api.State | null>(null);
  const [history, setHistory] = useState<api.History | null>(null);
  const [thread, setThread] = useState(0);
  const [view, setView] = useState<View>({ from: 0, to: SHOWN, live: true });
  const [cursor, setCursor] = useState<number | null>(null);
  const [error, setError] = useState("");
  const [said, setSaid] = useState("");
  const wanted = useRef({ thread, view });
  wanted.current = { thread, view };
  const followed = useRef(-1);

  const refresh = useCallback(async () => {
    try {
      const { thread, view } = wanted.current;
      const state = await api.state(thread);
      let { from, to } = view;
      if (view.live) {
        const width = view.to - view.from;
        to = Math.max(state.cycle, width);
        from = to - width;
      }
      const history = await api.history(from, to, POINTS);
      if (view.live && to !== view.to) setView((now) => (now.live ? { from, to, live: true } : now));
      // A run that has ended at a thread shows that thread.
      if (!state.running && followed.current !== state.cycle) {
        followed.current = state.cycle;
        if (state.thread !== thread) setThread(state.thread);
      }
      setState(state);
      setHistory(history);
      setError("");
      return state.running;
    } catch (problem) {
      setError(`The machine does not answer: ${(problem as Error).message}`);
      return false;
    }
  }, []);

  useEffect(() => {
    let timer = 0;
    let over = false;
    const tick = async () => {
      const running = await refresh();
      if (!over) timer = window.setTimeout(tick, running ? LIVE : STILL);
    };
    api.machine().then(
      (machine) => {
        setMachine(machine);
        document.title = `${machine.name} - Wireloom monitor`;
        void tick();
      },
      (problem) => setError(String(problem)),
    );
    return () => {
      over = true;
      window.clearTimeout(timer);
    };
  }, []);

  useEffect(() => void refresh(), [thread, view.from, view.to, view.live]);

  const command = useCallback(
    async (line: string) => {
      try {
        setSaid(await api.command(line));
      } catch (problem) {
        setSaid((problem as Error).message);
      }
      await refresh();
    },
    [refresh],
  );
  const run = useCallback(
    async (running: boolean, speed: number | null) => {
      await api.run(running, speed);
      setCursor(null);
      await refresh();
    },
    [refresh],
  );

  if (!machine || !state || !history) return <p class="error">{error || "Connecting ..."}</p>;
  const shared = { machine, state, history, view, setView, cursor, setCursor };
  return (
    <>
      <Controls {...shared} run={run} command={command} />
      {error && <p class="error">{error}</p>}
      <main>
        <section class="wide">
          <Timeline {...shared} thread={thread} setThread={setThread} />
        </section>
        <section class="left">
          <Chip {...shared} thread={thread} setThread={setThread} />
          <Charts {...shared} />
        </section>
        <section class="right">
          <Code machine={machine} state={state} thread={thread} command={command} />
          <Inspect machine={machine} state={state} thread={thread} command={command} />
          <Console said={said} command={command} />
        </section>
      </main>
    </>
  );
}
