// Bundles the page into one file, dist/page.html, without any reference to the network. The server
// puts a nonce in place of __NONCE__.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const { outputFiles } = await build({
  entryPoints: ["src/main.tsx"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
  outdir: "dist",
  write: false,
});
const text = (ending) => outputFiles.find((file) => file.path.endsWith(ending))?.text ?? "";
const page = await readFile("index.html", "utf8");
await mkdir("dist", { recursive: true });
const script = text(".js").replaceAll("</script", "<\\/script");
await writeFile(
  "dist/page.html",
  page.replace("/* style */", () => text(".css")).replace("/* script */", () => script),
);
