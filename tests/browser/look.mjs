// Looks at page after page: accessible, in one piece at every width, quiet, on its own, and the same with an ad blocker.
// axe, the dark theme, layout shifts and ad blockers are Chromium's part: they tell nothing else in another browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { strict as assert } from 'node:assert';

const here = path.dirname(fileURLToPath(import.meta.url));
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 320, height: 640 };
/** What the colours of a theme can break. */
const COLOURS = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

const isChromium = page => page.context().browser().browserType().name() === 'chromium';

/** Nothing on the page is hard to reach, see or hit, wide or narrow, and nothing sticks out of it. */
export async function clean(page, when) {
  for (const size of [WIDE, NARROW]) {
    await page.setViewportSize(size);
    const where = `${when} at ${size.width}`;
    assert.deepEqual(await page.evaluate(flaws), [], where);
    await accessible(page, where);
  }
  await page.setViewportSize(WIDE);
}

async function accessible(page, when, rules = { rules: { 'target-size': { enabled: true } } }) {
  if (!isChromium(page)) return;
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(AXE);
  const { violations } = await page.evaluate(options => globalThis.axe.run(options), { ...rules, resultTypes: ['violations'] });
  assert.deepEqual(violations.map(one => `${one.id}: ${one.nodes.map(node => node.target).join(', ')}`), [], when);
}

/** Two pages that go from address to address: one of somebody who is signed in, one of a guest. */
export async function eyes(browser, base, state) {
  const guest = await watched(browser, base, undefined);
  const member = await watched(browser, base, state);
  return {
    async look({ guest: addresses = [], member: inside = [], status = 200 }) {
      for (const address of addresses) await guest.look(address, status);
      for (const address of inside) await member.look(address, status);
    },
    close: () => Promise.all([guest.close(), member.close()]),
  };
}

async function watched(browser, base, storageState) {
  const context = await browser.newContext({ viewport: WIDE, storageState });
  await context.addInitScript(witness);
  const page = await context.newPage();
  let said = [];
  page.on('request', request => { if (!request.url().startsWith(base)) said.push(`asked ${request.url()}`); });
  page.on('console', message => { if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) said.push(message.text()); });
  page.on('pageerror', error => said.push(error.message));
  async function look(address, status) {
    said = [];
    await page.setViewportSize(WIDE);
    const answer = await page.goto(base + address);
    assert.equal(answer.status(), status, address);
    await clean(page, address);
    if (isChromium(page)) {
      await page.emulateMedia({ colorScheme: 'dark' });
      await accessible(page, `${address} in the dark`, COLOURS);
      await page.emulateMedia({ colorScheme: 'light' });
    }
    assert.deepEqual(said, [], address);
  }
  return { look, close: () => context.close() };
}

/** Runs in a page before anything of its own: notes what the policy refused and what moved while it was loaded. */
function witness() {
  globalThis.seen = [];
  addEventListener('securitypolicyviolation', event => globalThis.seen.push(`refused: ${event.violatedDirective} ${event.blockedURI}`));
  if (!PerformanceObserver.supportedEntryTypes.includes('layout-shift')) return;
  // What moves because the window was made narrower counts as asked for; a word that the script says anew, or the line
  // that it shows, moves less than this.
  const moved = list => {
    const entries = list.getEntries().filter(entry => !entry.hadRecentInput && entry.value > 0.02);
    globalThis.seen.push(...entries.map(entry => `moved by ${entry.value}`));
  };
  new PerformanceObserver(moved).observe({ type: 'layout-shift', buffered: true });
}

/** Runs in a page: what the witness noted, a page wider than its window, and what sticks out of its box. */
function flaws() {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const sticksOut = one => {
    const { display, overflowX } = getComputedStyle(one);
    return display !== 'inline' && overflowX === 'visible' && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1;
  };
  const out = [...document.querySelectorAll('main :not(svg, svg *, .spoken, input)')].filter(sticksOut);
  return [
    ...(globalThis.seen ?? []).splice(0),
    ...(wide > 0 ? [`${wide} px too wide`] : []),
    ...out.map(one => `${one.tagName} ${one.className} holds ${one.scrollWidth} in ${one.clientWidth} px`),
  ];
}

/** Loads every page with and without real filter lists; `all` are the pages by route. */
export async function blockers(all, base, state) {
  const cookies = state.cookies.map(({ name, value }) => ['--cookie', `${name}=${value}`]).flat();
  const seen = Object.values(all).filter(Boolean);
  const runs = [
    [...cookies, ...seen.flatMap(one => one.member ?? [])],
    ['--any-status', ...seen.flatMap(one => one.guest ?? [])],
  ];
  for (const args of runs) {
    const run = spawn(process.execPath, [path.join(here, 'adblock/check.mjs'), '--base', base, '--settle', '200', ...args]);
    let said = '';
    for (const pipe of [run.stdout, run.stderr]) pipe.setEncoding('utf8').on('data', text => { said += text; });
    const [status] = await once(run, 'close');
    assert.equal(status, 0, said);
  }
}
