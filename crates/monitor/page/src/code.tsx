import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Listing, Machine, State } from "./api";

interface Props {
  machine: Machine;
  state: State;
  thread: number;
  command: (line: string) => Promise<void>;
}

/** Lines of the listing that are drawn around the thread. */
const AROUND = 150;

/** The shortest end of a source's path that no other source has. */
function shortName(listing: Listing, source: number): string {
  const parts = listing.sources[source]!.name.split("/");
  for (let kept = 1; kept < parts.length; kept++) {
    const end = parts.slice(-kept).join("/");
    const same = ({ name }: { name: string }) => name === end || name.endsWith(`/${end}`);
    if (listing.sources.filter(same).length === 1) return end;
  }
  return parts.join("/");
}

/** For each instruction, its line in microcode and the one in Loom C. */
function useLines(listing: Listing | undefined) {
  return useMemo(() => {
    if (!listing) return [];
    const texts = listing.sources.map((source) => source.text?.split("\n") ?? []);
    return listing.instructions.map(({ places }) =>
      places.map(({ source, line }) => ({
        name: `${shortName(listing, source)}:${line}`,
        text: (texts[source]![line - 1] ?? "").trim(),
      })),
    );
  }, [listing]);
}

/** The program of the thread: instructions next to microcode, under the Loom C that they are of. */
export function Code({ machine, state, thread, command }: Props) {
  const now = state.threads[thread]!;
  const listing = now.listing === null ? undefined : machine.listings[now.listing];
  const lines = useLines(listing);
  const here = useRef<HTMLTableRowElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (here.current && box.current) {
      box.current.scrollTop = here.current.offsetTop - box.current.clientHeight / 3;
    }
  }, [now.address, thread, listing]);
  if (!listing) {
    return (
      <div class="code">
        <h2>Program</h2>
        <p>The thread has no program.</p>
      </div>
    );
  }
  const first = Math.max(0, now.address - AROUND);
  const last = Math.min(listing.instructions.length, now.address + AROUND);
  const others = new Map<number, string[]>();
  state.threads.forEach((other, number) => {
    if (number !== thread && other.listing === now.listing && other.state !== "stopped") {
      const names = others.get(other.address) ?? [];
      others.set(other.address, [...names, machine.threads[number]!.name]);
    }
  });
  const stops = new Map<number, number>();
  for (const { number, listing, addresses } of state.breakpoints) {
    if (listing === now.listing) addresses.forEach((address) => stops.set(address, number));
  }
  const toggle = (address: number) => {
    const number = stops.get(address);
    void command(number === undefined ? `break ${address} in ${listing.name}` : `delete ${number}`);
  };
  const rows = [];
  for (let address = first; address < last; address++) {
    const [microcode, loom] = lines[address]!;
    const before = lines[address - 1]?.[1];
    if (loom && (address === first || loom.name !== before?.name)) {
      rows.push(
        <tr class="loom">
          <td colSpan={4}>
            <b>{loom.name}</b> {loom.text}
          </td>
        </tr>,
      );
    }
    for (const [label] of listing.labels.filter(([, at]) => at === address)) {
      rows.push(
        <tr class="label">
          <td />
          <td colSpan={3}>{label}:</td>
        </tr>,
      );
    }
    const isHere = address === now.address;
    rows.push(
      <tr ref={isHere ? here : undefined} class={isHere ? "here" : ""}>
        <td
          class={`stop ${stops.has(address) ? "set" : ""}`}
          title="Set or clear a breakpoint"
          data-address={address}
          onClick={() => toggle(address)}
        >
          {address}
        </td>
        <td>{listing.instructions[address]!.text}</td>
        <td class="source">{microcode?.text}</td>
        <td class="others">{others.get(address)?.join(" ")}</td>
      </tr>,
    );
  }
  return (
    <div class="code">
      <h2>
        {listing.name}{" "}
        <small>
          thread {machine.threads[thread]!.name}, {now.state}
          {now.waits_for && `, waits for ${now.waits_for}`}, next {now.address}
        </small>
      </h2>
      <div class="scroll" ref={box} id="program">
        <table>
          <tbody>{rows}</tbody>
        </table>
      </div>
    </div>
  );
}
