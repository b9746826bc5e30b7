import { useEffect, useState } from "preact/hooks";
import * as api from "./api";
import { Tables } from "./tables";

export interface Props {
  machine: api.Machine;
  state: api.State;
  thread: number;
  command: (line: string) => Promise<void>;
}

const TABS = ["Registers", "Memory", "Tables", "Packets", "Breakpoints"] as const;

const hex = (value: number) => value.toString(16).padStart(8, "0");

export function Inspect(props: Props) {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Registers");
  return (
    <div class="inspect">
      <div class="tabs" role="tablist">
        {TABS.map((name) => (
          <button role="tab" aria-selected={name === tab} class={name === tab ? "on" : ""} onClick={() => setTab(name)}>
            {name}
          </button>
        ))}
      </div>
      <div class="scroll">
        {tab === "Registers" && <Registers {...props} />}
        {tab === "Memory" && <Memory {...props} />}
        {tab === "Tables" && <Tables {...props} />}
        {tab === "Packets" && <Packets {...props} />}
        {tab === "Breakpoints" && <Breakpoints {...props} />}
      </div>
    </div>
  );
}

function Registers({ state }: Props) {
  return (
    <div class="registers" id="registers">
      {state.registers.map(({ register, names, value }) => (
        <div class={names.length > 0 ? "named" : ""} title={`${value}`}>
          <b>{register}</b> <code>{hex(value)}</code> <span>{names.join(", ")}</span>
        </div>
      ))}
    </div>
  );
}

const SHOWN = 32;

function Memory(props: Props) {
  return props.machine.memories.length > 0 ? <Words {...props} /> : <p>It has no memory to read.</p>;
}

function Words({ machine, state }: Props) {
  const [memory, setMemory] = useState(0);
  const [text, setText] = useState("0x0");
  const [words, setWords] = useState<number[]>([]);
  const address = Number(text);
  const { words: each, addresses } = machine.memories[memory]!;
  const valid = Number.isInteger(address) && address >= 0 && address < addresses;
  useEffect(() => {
    if (!valid) return setWords([]);
    let over = false;
    api.memory(memory, address, SHOWN * each).then(
      ({ words }) => over || setWords(words),
      () => over || setWords([]),
    );
    return () => {
      over = true;
    };
  }, [memory, address, valid, state.cycle]);
  const lines = [];
  for (let at = 0; at < words.length; at += 8) {
    lines.push(`${hex(address + at / each)}  ${words.slice(at, at + 8).map(hex).join(" ")}`);
  }
  return (
    <div class="memory">
      <select aria-label="Memory" onChange={(event) => setMemory(Number(event.currentTarget.value))}>
        {machine.memories.map(({ name }, number) => (
          <option value={number}>{name}</option>
        ))}
      </select>{" "}
      <input
        aria-label="Address"
        value={text}
        class={valid ? "" : "wrong"}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <small> addresses of {4 * each} bytes</small>
      <pre>{lines.join("\n")}</pre>
    </div>
  );
}

function Packets({ state }: Props) {
  if (state.left.length === 0) return <p>No packet has left yet.</p>;
  return (
    <table>
      <tbody>
        {state.left.toReversed().map(({ packet, verdict, bytes }) => (
          <tr>
            <td>{packet}</td>
            <td>{verdict}</td>
            <td>{bytes} bytes</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Breakpoints({ machine, state, command }: Props) {
  const [text, setText] = useState("");
  return (
    <div class="breakpoints">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void command(`break ${text}`);
          setText("");
        }}
      >
        <input
          aria-label="Breakpoint"
          placeholder={`FILE:LINE, label, packet N${
            machine.memories[0] ? `, write ${machine.memories[0].name} 0x10` : ""
          }`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button>Add</button>
      </form>
      {state.breakpoints.map(({ number, text }) => (
        <div>
          <button title="Delete" onClick={() => void command(`delete ${number}`)}>
            ×
          </button>{" "}
          {number}: {text}
        </div>
      ))}
    </div>
  );
}
