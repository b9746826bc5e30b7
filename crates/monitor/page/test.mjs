// Uses the page in headless Chromium as a person would: node test.mjs URL MACHINE [SCREENSHOT]. Exit
// status 1 with a sentence if something is not as it should be.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** What is seen of each machine: threads, engines, parts of the chip, whether it tells its power. */
const MACHINES = {
  ixp1200: { threads: 24, engines: 6, parts: ["sdram", "ix bus"], names: true, charts: ["Use of units", "Power, mW"], power: true },
  "raw-3": {
    threads: 32,
    engines: 16,
    parts: ["static network 1", "memory network", "memory", "DRAM"],
    charts: ["Use of units", "What waits in queues", "Power, mW"],
    power: true,
  },
  mpsoc: {
    threads: 128,
    engines: 16,
    parts: ["network", "broker", "shared memory", "packet I/O"],
    charts: ["Use of units", "What waits in queues", "Power, mW"],
    power: true,
  },
};

const [url, machine, screenshot] = process.argv.slice(2);
const wanted = MACHINES[machine];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1250 } });
  const problems = [];
  const origin = new URL(url).origin;
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(origin) && !to.startsWith("data:")) problems.push(`asks ${to}`);
  });
  await page.goto(url);
  const number = async (id) => Number((await page.textContent(id)).replaceAll(",", ""));
  const says = (id, text) =>
    page.waitForFunction(([id, text]) => document.querySelector(id)?.textContent.includes(text), [id, text]);
  const command = async (line) => {
    await page.fill("#command", line);
    await page.press("#command", "Enter");
  };

  // The chip is there, before its first cycle.
  await page.waitForSelector("#cycle");
  assert.equal(await page.title(), `${machine} - Wireloom monitor`);
  assert.equal(await page.locator(".context").count(), wanted.threads);
  assert.equal(await page.locator(".engine").count(), wanted.engines);
  for (const part of wanted.parts) {
    assert.ok((await page.getByText(part, { exact: true }).count()) > 0, `${part} is shown`);
  }
  for (const title of wanted.charts) {
    assert.ok((await page.locator(".chart h2", { hasText: title }).count()) > 0, `chart ${title}`);
  }
  assert.equal(await number("#cycle"), 0);

  // A step leads to the next instruction of the thread.
  const here = () => page.locator(".code .here .stop").getAttribute("data-address");
  const first = await here();
  await page.click("text=Step");
  await page.waitForFunction(() => document.querySelector("#cycle").textContent !== "0");
  await page.waitForFunction((first) => {
    return document.querySelector(".code .here .stop").dataset.address !== first;
  }, first);

  // A click on an address sets a breakpoint, a second one clears it.
  const stop = page.locator(`.stop[data-address="${Number(await here()) + 2}"]`);
  await stop.click();
  await page.waitForSelector(".stop.set");
  await stop.click();
  await page.waitForFunction(() => !document.querySelector(".stop.set"));

  // A wrong command is told.
  await command("break nowhere");
  await says("#answer", "there is no label");

  // A run ends at a breakpoint.
  await command("break packet 2");
  await says("#answer", "breakpoint 2");
  await page.click("#run");
  await says("#said", "break packet 2");
  const broken = await number("#cycle");
  assert.ok(broken > 0);
  assert.ok((await page.locator("#registers div").count()) > 3, "registers are shown");
  if (wanted.names) {
    assert.ok((await page.locator("#registers .named").count()) > 0, "registers have names");
  }

  // Another one, at a slow speed, can be paused.
  await page.selectOption('select[aria-label="Speed"]', { label: "10,000 cycles/s" });
  await page.click("#run");
  await page.waitForFunction((from) => {
    return Number(document.querySelector("#cycle").textContent.replaceAll(",", "")) > from + 200;
  }, broken);
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#run").textContent === "Run");

  // Until every packet has left.
  await page.selectOption('select[aria-label="Speed"]', { label: "as fast as it can" });
  await page.click("#run");
  await says("#said", "every packet has left");
  assert.ok((await number("#done")) >= 3);
  assert.ok((await number("#cycle")) > broken);

  // Entries of a table are shown as table files have them, written and deleted.
  await page.click("role=tab[name=Tables]");
  const rows = () => page.locator(".tables td code").allTextContents();
  await page.waitForSelector(".tables td code");
  const [first_row] = await rows();
  const other = first_row.replace("out=7", "out=3");
  assert.notEqual(other, first_row);
  await page.click(`.tables td code >> nth=0`);
  assert.equal(await page.inputValue('input[aria-label="Entry"]'), first_row);
  await page.fill('input[aria-label="Entry"]', other);
  await page.press('input[aria-label="Entry"]', "Enter");
  await page.waitForFunction((row) => document.querySelector(".tables td code")?.textContent === row, other);
  await page.click('.tables button[title="Delete"] >> nth=0');
  await page.waitForFunction((row) => document.querySelector(".tables td code")?.textContent !== row, other);
  await page.fill('input[aria-label="Entry"]', "nothing of the kind");
  await page.press('input[aria-label="Entry"]', "Enter");
  await says("#answer", "ports");
  await page.selectOption('select[aria-label="Table"]', { label: "ports" });

  // The timeline has colours of several states, and can be scrubbed and zoomed.
  await page.click("text=All");
  await page.waitForTimeout(500);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector("#threads");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let at = 0; at < data.length; at += 4) found.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    return [...found];
  });
  assert.ok(colours.includes("47,158,68"), "some thread runs");
  assert.ok(colours.includes("138,164,200"), "some thread waits");
  const box = await page.locator("#threads").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 5);
  await says("#cursor", "at cycle");
  await page.mouse.move(box.x + box.width / 2, box.y + 5);
  await page.mouse.wheel(0, -300);
  await page.waitForTimeout(500);
  if (wanted.power) {
    const watts = await page.locator(".watts").allTextContents();
    assert.ok(watts.some((text) => Number.parseFloat(text) > 0), `power: ${watts}`);
  }

  // Nothing is drawn beyond its box, in a narrow window and with long names either.
  for (const width of [1400, 700, 360]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    const beyond = await page.evaluate(() => {
      for (const part of document.querySelectorAll(".unit span, .engine b")) {
        part.textContent = "a_name_without_an_end_".repeat(8);
      }
      const boxes = document.querySelectorAll(".timeline, .chip, .chart, .inspect, .console, .engine, .unit");
      const wider = [...boxes].filter((box) => box.scrollWidth > box.clientWidth + 1);
      const page = document.documentElement.scrollWidth > window.innerWidth ? ["page"] : [];
      return [...wider.map((box) => box.className), ...page];
    });
    assert.deepEqual(beyond, [], `drawn beyond its box at ${width} pixels`);
  }
  // No share is above all of the time, and no box is without a value.
  const shares = await page.locator(".share").evaluateAll((all) => all.map((share) => share.title));
  assert.ok(shares.every((title) => Number.parseFloat(title.split(": ")[1]) <= 100), `${shares}`);
  assert.equal(await page.locator(".unit:not(:has(.share, .fill, .watts, .count))").count(), 0);
  if (screenshot) await page.screenshot({ path: screenshot });
  assert.deepEqual(problems.filter((text) => !text.includes("400")), []);
  console.log("1 passed, 0 failed");
} finally {
  await browser.close();
}
