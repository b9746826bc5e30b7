import { useEffect, useState } from "preact/hooks";
import * as api from "./api";
import type { Props } from "./inspect";

const seconds = (ns: number) => `${(ns / 1e9).toFixed(1)} s`;

/** What is known of a row beside its entry: state that packets made, and times. */
function beside({ state = [], age_ns, left_ns }: api.Row): string {
  const words = state.map(([name, value]) => `${name}=${value}`);
  if (age_ns !== undefined) words.push(`age ${seconds(age_ns)}`);
  if (left_ns !== undefined) words.push(`ends in ${seconds(left_ns)}`);
  return words.join(", ");
}

/**
 * The tables of the program, read when the machine stands still: reading a large one takes longer
 * than the time between two looks at a machine that runs.
 */
export function Tables({ state, command }: Props) {
  const [tables, setTables] = useState<api.Table[] | null>(null);
  const [chosen, setChosen] = useState(0);
  const [rows, setRows] = useState<{ rows: api.Row[]; more: boolean }>({ rows: [], more: false });
  const [entry, setEntry] = useState("");
  const [changes, setChanges] = useState(0);
  const [error, setError] = useState("");
  useEffect(() => {
    if (state.running) return;
    let over = false;
    (async () => {
      try {
        const tables = await api.tables();
        const rows = chosen < tables.length ? await api.entries(chosen) : { rows: [], more: false };
        if (over) return;
        setTables(tables);
        setRows(rows);
        setError("");
      } catch (problem) {
        if (!over) setError((problem as Error).message);
      }
    })();
    return () => {
      over = true;
    };
  }, [chosen, changes, state.running, state.cycle]);
  if (error) return <p class="error">{error}</p>;
  if (!tables) return <p>{state.running ? "Tables are read when the machine pauses." : "Reading ..."}</p>;
  const table = tables[chosen];
  if (!table) return <p>The program has no tables.</p>;
  const change = async (line: string) => {
    await command(`tables ${line}`);
    setChanges((count) => count + 1);
  };
  return (
    <div class="tables">
      <select aria-label="Table" onChange={(event) => setChosen(Number(event.currentTarget.value))}>
        {tables.map(({ path }, number) => (
          <option value={number}>{path}</option>
        ))}
      </select>{" "}
      <small>
        {table.kind}
        {table.entries !== null && `, ${table.entries} entries`}
        {table.size !== null && `, room for ${table.size}`}
        {state.running && "; as it was before the run"}
      </small>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void change(`replace ${table.path} ${entry}`);
          setEntry("");
        }}
      >
        <input
          aria-label="Entry"
          placeholder={rows.rows[0]?.entry || "KEY = VALUE, as in table files"}
          value={entry}
          onInput={(event) => setEntry(event.currentTarget.value)}
        />
        <button title="Write this entry, whether or not there is one with its key">Write</button>
      </form>
      <table>
        <tbody>
          {rows.rows.map((row) => (
            <tr>
              <td>
                <button title="Delete" onClick={() => void change(`delete ${table.path} ${row.key}`)}>
                  ×
                </button>
              </td>
              <td onClick={() => setEntry(row.entry)}>
                <code>{row.entry || row.key}</code>
              </td>
              <td>
                <small>{beside(row)}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.more && <p>These are the first {rows.rows.length} rows.</p>}
    </div>
  );
}
