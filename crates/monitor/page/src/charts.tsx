import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { History, Machine, Measure, PartKind } from "./api";
import type { View } from "./app";
import { LINES, isLevel, isOwn, rates } from "./series";

interface Props {
  machine: Machine;
  history: History;
  view: View;
  cursor: number | null;
  setCursor: (cycle: number | null) => void;
}

interface Series {
  measure: number;
  label: string;
  factor: number;
}

const LEAST = 1e-6;

/** Units and buses, queues, and power, over the cycles that the timeline shows. */
export function Charts(props: Props) {
  const { machine } = props;
  const label = (measure: number) => machine.parts[machine.measures[measure]!.part]!.name;
  const all = machine.measures.map((measure, number) => ({ measure, number }));
  const lines = (factor: number, wanted: (measure: Measure, kind: PartKind) => boolean) =>
    all
      .filter(({ measure: { part } }) => isOwn(machine, part))
      .filter(({ measure }) => wanted(measure, machine.parts[measure.part]!.kind))
      .map(({ number }) => ({ measure: number, label: label(number), factor }));
  const used = lines(100, ({ kind }) => kind === "busy");
  const queues = lines(1, (measure, kind) => isLevel(measure) && kind !== "port");
  const ports = lines(1, (measure, kind) => isLevel(measure) && kind === "port");
  const waiting = ports[0] && machine.measures[ports[0].measure]!.name;
  // Picojoules a cycle times cycles a second are picowatts.
  const power = lines(
    machine.hertz * 1e-9,
    ({ kind }, part) => kind === "energy" && part !== "engine",
  );
  return (
    <div class="charts">
      {used.length > 0 && <Chart {...props} title="Use of units and buses, %" series={used} />}
      {queues.length > 0 && <Chart {...props} title="What waits in queues" series={queues} />}
      {waiting && <Chart {...props} title={`At ports: ${waiting} that wait`} series={ports} />}
      {power.length > 0 && <Chart {...props} title="Power, mW" series={power} />}
    </div>
  );
}

function Chart({ history, view, cursor, title, series }: Props & { title: string; series: Series[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const made = new uPlot(
      {
        width: place.current!.clientWidth,
        height: 150,
        scales: { x: { time: false } },
        legend: { live: false },
        cursor: { sync: { key: "cycles" }, drag: { x: false, y: false } },
        axes: [{ size: 28 }, { size: 44 }],
        series: [
          { label: "cycle" },
          ...series.map(({ label }, number) => ({
            label,
            stroke: LINES[number % LINES.length]!,
            width: 1.2,
            points: { show: false },
          })),
        ],
      },
      [[], ...series.map(() => [])],
      place.current!,
    );
    plot.current = made;
    const resize = () => made.setSize({ width: place.current!.clientWidth, height: 150 });
    window.addEventListener("resize", resize);
    return () => {
      window.removeEventListener("resize", resize);
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const data = [
      history.cycles.slice(1),
      ...series.map(({ measure, factor }) =>
        rates(history, measure).map((value) => (value < LEAST ? 0 : value * factor)),
      ),
    ];
    const made = plot.current!;
    made.batch(() => {
      made.setData(data as uPlot.AlignedData, false);
      made.setScale("x", { min: view.from, max: view.to });
      if (cursor !== null) made.setCursor({ left: made.valToPos(cursor, "x"), top: 10 });
    });
  });
  return (
    <div class="chart">
      <h2>{title}</h2>
      <div ref={place} />
    </div>
  );
}
