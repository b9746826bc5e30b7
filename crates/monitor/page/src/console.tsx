import { useState } from "preact/hooks";

interface Props {
  said: string;
  command: (line: string) => Promise<void>;
}

/** A line for commands of the debugger, and the last answer. */
export function Console({ said, command }: Props) {
  const [line, setLine] = useState("");
  return (
    <div class="console">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void command(line);
          setLine("");
        }}
      >
        <input
          aria-label="Command"
          id="command"
          placeholder="a command of the debugger; help lists them"
          value={line}
          onInput={(event) => setLine(event.currentTarget.value)}
        />
      </form>
      <pre id="answer">{said}</pre>
    </div>
  );
}
