// Looks at a status page as people do: in both colour schemes, on a desk and on a phone, with a
// keyboard, and with axe's eyes for those who do not see. Prints what is wrong and exits with 1.
//
//   NODE_PATH=target/browser/node_modules node acceptance/browser/look.cjs http://127.0.0.1:9464/ FOLDER whole|used
"use strict";
const path = require("node:path");
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const [url, folder, what] = process.argv.slice(2);
const wrong = [];
const expect = (holds, words) => holds || wrong.push(words);

// As root there is no sandbox, and a closed network must not be asked for updates.
const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

async function look(browser, scheme, width) {
  const name = `${scheme}-${width}`;
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 }, bypassCSP: false });
  const page = await context.newPage();
  page.on("console", (message) => expect(message.type() !== "error", `${name}: console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`${name}: error: ${error}`));
  page.on("dialog", (dialog) => { wrong.push(`${name}: dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    expect(new URL(request.url()).origin === new URL(url).origin, `${name}: request elsewhere: ${request.url()}`);
  });
  await page.goto(url);
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(sizes[0] <= sizes[1], `${name}: wider than its window: ${sizes}`);
  expect((await page.locator("script").count()) === 1, `${name}: a script that is not ours`);
  // The policy forbids inline scripts, so axe comes in as the debugger does.
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document));
  for (const of of found.violations) {
    const nodes = of.nodes.map((node) => `${node.target}: ${node.failureSummary}`);
    wrong.push(`${name}: axe: ${of.id}: ${of.help}\n  ${nodes.join("\n  ")}`);
  }
  expect(found.passes.length > 10, `${name}: axe has looked at nothing`);
  await context.close();
}

// The numbers of the page are those of /metrics, and refreshing keeps what the reader has opened.
async function use(browser) {
  const page = await browser.newPage();
  page.on("console", (message) => expect(message.type() !== "error", `console: ${message.text()}`));
  await page.goto(url);
  await page.keyboard.press("Tab");
  const focused = await page.evaluate(() => document.activeElement.className);
  expect(focused === "skip", `the first stop of the keyboard is ${focused}`);
  await page.locator("#defaults summary").click();
  const old = await page.locator("#main").elementHandle();
  await page.waitForFunction((old) => !document.contains(old), old, { timeout: 20000 });
  expect(await page.locator("#defaults").getAttribute("open") !== null, "refreshing closes what was open");
  const shown = await page.locator("td.total").allTextContents();
  const sum = shown.reduce((sum, text) => sum + Number(text), 0);
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  const lines = metrics.split("\n").filter((line) => line.startsWith("function_runner_evaluations_total{"));
  const counted = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  expect(sum === counted && sum > 0, `the page tells ${sum} calls, /metrics ${counted}`);
  await page.locator("#pause").click();
  expect((await page.locator("#pause").textContent()) === "Resume", "the page cannot be paused");
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ARGS });
  try {
    if (what === "used") await use(browser);
    else for (const scheme of ["light", "dark"]) for (const width of [1280, 390]) await look(browser, scheme, width);
  } finally {
    await browser.close();
  }
  wrong.forEach((words) => console.error(words));
  process.exit(wrong.length ? 1 : 0);
})();
