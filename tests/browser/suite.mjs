// The pages in Debian's Chromium and Firefox: accessible, in one piece at every width, the same with an ad blocker, and
// whole without a script. axe, the dark theme, ad blockers, layout shifts and passkeys are Chromium's part.
// Usage: tests/run browser, or beside a built program `tests/browser/run [PART OF A NAME ...]`, or `node suite.mjs firefox`.
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { strict as assert } from 'node:assert';
import { go, launch } from './browsers.mjs';
import { api, fill, keyOf, ping, start, AWKWARD } from './world.mjs';
import { pages, routes } from './pages.mjs';
import { passkeys } from './passkeys.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Which browser, and parts of tests' names: only those run. */
const [kind, ...only] = process.argv.slice(2);
const isChromium = kind === 'chromium';
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 320, height: 640 };
const LIGHT = { options: {}, sizes: [WIDE, NARROW] };
const DARK = { options: { colorScheme: 'dark' }, sizes: [WIDE] };
/** Long enough for a busy machine, and far less than the minute after which a page that hears nothing looks by itself. */
const SHOWN = { timeout: 20_000 };
const results = { passed: 0, failed: 0 };
async function test(name, work) {
  if (only.length && !only.some(part => name.includes(part))) return;
  try { await work(); results.passed++; console.log(`ok   ${name}`); } catch (error) {
    results.failed++;
    console.log(`FAIL ${name}\n${error.stack ?? error}`);
  }
}

const begun = Date.now();
const world = await start();
const browser = await launch(kind);
console.log(`in ${kind} ${browser.version()}`);
try {
  await run();
} finally {
  await browser.close();
  await world.stop();
}
console.log(`${results.passed} passed, ${results.failed} failed in ${((Date.now() - begun) / 1000).toFixed(1)}s`);
process.exitCode = results.failed ? 1 : 0;

async function run() {
  const link = new URL(world.owner.sign_in_url).pathname;
  const state = await signIn(link);
  await test('the first five minutes need no script', () => firstMinutes(state));
  await test('a new project waits for one ping, and its row turns green by itself', () => firstRow(state));
  const uuids = await fill(world);
  await test('a wall gets a secret address, and a channel is made, tried and deleted, without a script', async () => {
    uuids.wall = await share(state);
    await channels(state);
  });
  const all = pages(world, uuids);
  await test('every page of the router is looked at', () => {
    assert.deepEqual(routes(), Object.keys(all).sort());
  });
  for (const [route, seen] of Object.entries(all)) {
    if (seen) await test(`${route} is accessible, in one piece and on its own`, () => look(seen, state));
  }
  if (isChromium) await test('no ad blocker changes anything', () => blockers(all, state));
  await test('a check is made, previewed and edited without a script', () => forms(state));
  await test('of two who edit at once the second sees both versions', () => conflict(state, uuids.fresh));
  await test('a deletion can be undone', () => undo(state, uuids.paused));
  await test('somebody is invited, joins and takes the project over', () => team(state));
  await test('an open page follows a ping within two seconds, ticks and focus kept', () => follow(state, uuids));
  await test('a page that was asleep or cut off catches up', () => catchUp(state, uuids));
  await test('a second factor is set up, the address changed, and both asked for', secondFactor);
  if (isChromium) await test('a passkey is made, signs in alone, and is removed', () => passkeys({ browser, world, clean }));
  await test('the keyboard reaches everything, the content first', () => keyboard(state));
  await test('an awkward name stays text, everywhere', () => awkward(state, uuids));
}

/** Signs the owner in by the button of the link, and returns the browser's state. */
async function signIn(link) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(world.base + link);
  await go(page.getByRole('button', { name: 'Sign in' }));
  await page.waitForURL(/\/projects\//);
  const state = await context.storageState();
  await context.close();
  return state;
}

async function member(state, options = {}) {
  const context = await browser.newContext({ storageState: state, javaScriptEnabled: false, ...options });
  return context.newPage();
}

async function firstMinutes(state) {
  const page = await member(state);
  await page.goto(world.base);
  const line = await page.locator('.line').innerText();
  const url = line.match(/'(http[^']+)'/)[1];
  assert.equal((await fetch(url)).status, 201);
  await page.reload();
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'The one check is up');
  await go(page.getByRole('link', { name: 'my-first-check' }));
  assert.match(await page.locator('.verdict').innerText(), /Up\./);
  await page.context().close();
}

async function firstRow(state) {
  const page = await member(state, { javaScriptEnabled: true });
  await page.goto(`${world.base}/projects`);
  await page.getByLabel('Name').fill('By one ping');
  await Promise.all([listens(page), go(page.getByRole('button', { name: 'Make' }))]);
  const [, url] = (await page.locator('.line').innerText()).match(/'(http[^']+)'/);
  assert.equal((await fetch(url)).status, 201);
  await page.waitForFunction(() => /Up/.test(document.querySelector('#rows .state.is-up')?.innerText), undefined, SHOWN);
  await page.getByRole('heading', { level: 1, name: 'The one check is up' }).waitFor();
  await page.context().close();
}

async function look({ guest = [], member: members = [], status = 200 }, state) {
  for (const { options, sizes } of isChromium ? [LIGHT, DARK] : [LIGHT]) {
    for (const [addresses, storageState] of [[guest, undefined], [members, state]]) {
      const context = await browser.newContext({ ...options, viewport: sizes[0], storageState });
      await context.addInitScript(witness);
      const page = await context.newPage();
      const foreign = [], said = [];
      page.on('request', request => { if (!request.url().startsWith(world.base)) foreign.push(request.url()); });
      page.on('console', message => { if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) said.push(message.text()); });
      page.on('pageerror', error => said.push(error.message));
      for (const address of addresses) {
        await page.setViewportSize(sizes[0]);
        const answer = await page.goto(world.base + address);
        assert.equal(answer.status(), status, address);
        for (const size of sizes) {
          await page.setViewportSize(size);
          const where = `${address} at ${size.width} ${options.colorScheme ?? ''}`;
          assert.deepEqual(await page.evaluate(flaws), [], where);
          if (isChromium) await clean(page, where);
        }
      }
      assert.deepEqual([foreign, said], [[], []]);
      await context.close();
    }
  }
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
    ...globalThis.seen.splice(0),
    ...(wide > 0 ? [`${wide} px too wide`] : []),
    ...out.map(one => `${one.tagName} ${one.className} holds ${one.scrollWidth} in ${one.clientWidth} px`),
  ];
}

function blockers(all, state) {
  const cookies = state.cookies.map(({ name, value }) => ['--cookie', `${name}=${value}`]).flat();
  const seen = Object.values(all).filter(Boolean);
  const runs = [
    [...cookies, ...seen.flatMap(one => one.member ?? [])],
    ['--any-status', ...seen.flatMap(one => one.guest ?? [])],
  ];
  for (const args of runs) {
    const run = spawnSync(process.execPath, [path.join(here, 'adblock/check.mjs'), '--base', world.base, '--settle', '200', ...args], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stdout + run.stderr);
  }
}

async function forms(state) {
  const page = await member(state);
  await page.goto(`${world.base}/projects/${world.owner.project}/new-check`);
  await page.getByLabel('Name').fill('By hand');
  await page.getByLabel('Cron', { exact: true }).check();
  await page.getByLabel('Cron expression').fill('15 3 * * 1-5');
  await page.getByLabel('Time zone').fill('Europe/Riga');
  await go(page.getByRole('button', { name: 'Show again' }));
  assert.match(await page.locator('.words').innerText(), /weekday at 03:15/);
  assert.equal(await page.locator('.when li').count(), 5);
  await page.getByLabel('Grace', { exact: true }).fill('ten');
  await go(page.getByRole('button', { name: 'Save' }));
  assert.match(await page.getByRole('alert').innerText(), /One field needs mending/);
  assert.equal(await page.getByLabel('Name').inputValue(), 'By hand');
  await page.getByLabel('Grace', { exact: true }).fill('10');
  await go(page.getByRole('button', { name: 'Save' }));
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'By hand');
  await go(page.getByRole('link', { name: 'Edit' }));
  await page.getByLabel('Tags').fill('one two');
  await go(page.getByRole('button', { name: 'Save' }));
  assert.equal(await page.locator('.head .tag').count(), 2);
  await page.context().close();
}

async function share(state) {
  const page = await member(state);
  await page.goto(`${world.base}/projects/${world.owner.project}/wall`);
  await page.getByText('For a screen where nobody signs in').click();
  await go(page.getByRole('button', { name: 'Make an address' }));
  const url = await page.locator('#sharing .line').innerText();
  await page.context().close();
  return url.split('/').pop();
}

async function channels(state) {
  const page = await member(state);
  await page.goto(`${world.base}/projects/${world.owner.project}/channels`);
  await page.getByRole('link', { name: 'New channel' }).click();
  await go(page.getByRole('link', { name: 'E-mail', exact: true }));
  await page.getByLabel('Name').fill('By hand');
  await page.getByLabel('Address', { exact: true }).fill('nobody');
  await go(page.getByRole('button', { name: 'Save' }));
  assert.match(await page.getByRole('alert').innerText(), /One field needs mending/);
  assert.equal(await page.getByLabel('Name').inputValue(), 'By hand');
  await page.getByLabel('Address', { exact: true }).fill('owner@example.org');
  await page.getByLabel('Search index').uncheck();
  await go(page.getByRole('button', { name: 'Save' }));
  assert.match(await page.getByRole('status').innerText(), /Saved/);
  assert.equal(await page.getByLabel('Search index').isChecked(), false);
  await go(page.getByRole('button', { name: 'Send a test' }));
  assert.match(await page.getByRole('status').innerText(), /The test was sent\. .*outbox/);
  await page.getByText('Delete this channel…').click();
  await go(page.getByRole('button', { name: 'Delete it' }));
  assert.match(await page.getByRole('status').innerText(), /Deleted/);
  await page.context().close();
}

function list() {
  return `${world.base}/projects/${world.owner.project}`;
}

/** Waits until the page has the server's ear. */
async function listens(page) {
  const answer = await page.waitForResponse(answer => answer.url().endsWith('/events'));
  assert.equal(answer.status(), 200);
}

/** Waits until the row of a check says that word. */
function shows(page, uuid, word) {
  const said = ([key, word]) => document.getElementById(`r-${key}`)?.innerText.includes(word);
  return page.waitForFunction(said, [keyOf(uuid), word], SHOWN);
}

async function follow(state, uuids) {
  const page = await member(state, { javaScriptEnabled: true });
  await Promise.all([listens(page), page.goto(list())]);
  const row = page.locator(`#r-${keyOf(uuids.fresh)}`);
  assert.match(await row.innerText(), /New/);
  await page.locator(`#r-${keyOf(uuids.up)} input`).check();
  await page.locator(`#r-${keyOf(uuids.up)} .c-name a`).first().focus();
  const before = Number(await page.locator('#counts a', { hasText: 'Down' }).locator('b').innerText());
  const took = [];
  for (const [suffix, word] of [['', 'Up'], ['/fail', 'Down'], ['', 'Up'], ['/fail', 'Down']]) {
    const told = Date.now();
    await ping(world, uuids.fresh, suffix);
    await shows(page, uuids.fresh, word);
    took.push(Date.now() - told);
  }
  console.log(`     changes were shown after ${took.join(', ')} ms`);
  assert.ok(Math.min(...took) < 2000);
  assert.equal(Number(await page.locator('#counts a', { hasText: 'Down' }).locator('b').innerText()), before + 1);
  assert.match(await page.title(), new RegExp(`^\\(${before + 1} down\\)`));
  assert.match(await page.locator('link[rel=icon]').getAttribute('href'), /down-/);
  assert.equal(await page.locator(`#r-${keyOf(uuids.up)} input`).isChecked(), true);
  assert.equal(await page.evaluate(() => document.activeElement.closest('tr')?.id), `r-${keyOf(uuids.up)}`);
  await page.goto(`${world.base}/checks/${uuids.fresh}`);
  assert.match(await page.locator('#verdict').innerText(), /^Down/);
  await ping(world, uuids.fresh);
  await page.waitForFunction(() => /^Up/.test(document.getElementById('verdict').innerText.trim()), undefined, SHOWN);
  await page.context().close();
}

async function catchUp(state, uuids) {
  const page = await member(state, { javaScriptEnabled: true });
  await page.goto(list());
  await page.context().setOffline(true);
  await ping(world, uuids.fresh, '/fail');
  await page.context().setOffline(false);
  await shows(page, uuids.fresh, 'Down');
  await ping(world, uuids.fresh);
  await shows(page, uuids.fresh, 'Up');
  await page.context().close();
}

async function conflict(state, uuid) {
  const [one, two] = [await member(state), await member(state)];
  for (const page of [one, two]) await page.goto(`${world.base}/checks/${uuid}/edit`);
  for (const [page, name] of [[one, 'First'], [two, 'Second']]) {
    await page.getByLabel('Name').fill(name);
    await go(page.getByRole('button', { name: 'Save' }));
  }
  const said = await two.getByRole('alert').innerText();
  assert.match(said, /Somebody saved this check while you were editing/);
  assert.match(said, /First/);
  assert.match(said, /Second/);
  assert.equal((await api(world, 'GET', `checks/${uuid}`)).name, 'First');
  await go(two.getByRole('button', { name: 'Save' }));
  assert.equal((await api(world, 'GET', `checks/${uuid}`)).name, 'Second');
  for (const page of [one, two]) await page.context().close();
}

async function undo(state, uuid) {
  const page = await member(state);
  await page.goto(`${world.base}/checks/${uuid}`);
  await page.getByText('More', { exact: true }).click();
  await go(page.getByRole('button', { name: 'Delete' }));
  assert.equal((await fetch(`${world.base}/ping/${uuid}`)).status, 404);
  await go(page.getByRole('button', { name: 'Undo' }));
  assert.equal((await api(world, 'GET', `checks/${uuid}`)).status, 'paused');
  await page.context().close();
}

/** What an authenticator app shows now (RFC 6238); `secret` is base32. */
function code(secret) {
  const bits = [...secret].map(letter => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map(byte => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(step).digest();
  return String((digest.readUInt32BE(digest[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

async function secondFactor() {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(world.account('careful@example.org').sign_in_url);
  await go(page.getByRole('button', { name: 'Sign in' }));
  await page.goto(`${world.base}/account`);
  await page.getByLabel('The new one').fill('long enough');
  await go(page.getByRole('button', { name: 'Set the password' }));
  await go(page.getByRole('link', { name: 'Set up' }));
  const secret = await page.locator('input[name=secret]').inputValue();
  await page.getByLabel('Write the code').fill('1');
  await page.getByLabel('Your password').fill('long enough');
  await go(page.getByRole('button', { name: 'Turn on' }));
  await clean(page, 'a code is refused');
  await page.getByLabel('Write the code').fill(code(secret));
  await page.getByLabel('Your password').fill('long enough');
  await go(page.getByRole('button', { name: 'Turn on' }));
  await clean(page, 'recovery codes are shown');
  const recovery = await page.locator('.codes li').first().innerText();
  await go(page.getByRole('link', { name: 'I have kept them' }));
  await clean(page, 'the factor is on');
  await page.getByLabel('The new address').fill('more-careful@example.org');
  await page.getByLabel('Your password').fill('long enough');
  await go(page.getByRole('button', { name: 'Mail a link there' }));
  await clean(page, 'another address is asked for');
  await page.goto(world.base + await world.letterLink(/\/account\/email\/\w+/));
  await clean(page, 'the new address is proved');
  await go(page.getByRole('button', { name: 'Use this address' }));
  assert.match(await page.locator('main').innerText(), /Signed in as more-careful@example.org/);
  await context.clearCookies();
  await page.goto(`${world.base}/sign-in`);
  await page.getByLabel('E-mail').fill('more-careful@example.org');
  await page.getByLabel('Password').fill('long enough');
  await go(page.getByRole('button', { name: 'Sign in', exact: true }));
  await clean(page, 'a code is asked for');
  await page.getByLabel('Code from').fill(recovery);
  await go(page.getByRole('button', { name: 'Sign in' }));
  await page.goto(`${world.base}/account/delete`);
  await clean(page, 'what goes is said');
  await page.getByLabel('Your password').fill('long enough');
  await go(page.getByRole('button', { name: 'Delete the account and' }));
  await clean(page, 'it is gone');
  await context.close();
}

async function team(state) {
  const page = await member(state, { javaScriptEnabled: true });
  await page.goto(`${world.base}/projects#new`);
  await page.getByLabel('Name').fill('Shared');
  await go(page.getByRole('button', { name: 'Make the project' }));
  await go(page.getByRole('link', { name: 'Settings', exact: true }));
  await page.getByLabel('A new key for').fill('Deploy');
  await go(page.getByRole('button', { name: 'Make the key' }));
  assert.match(await page.getByRole('status').innerText(), /hcw_[A-Za-z0-9]{28}/);
  await clean(page, 'a new key is shown');
  await go(page.getByRole('link', { name: 'Team' }));
  await page.getByLabel('E-mail').fill('friend@example.org');
  await go(page.getByRole('button', { name: 'Send the invitation' }));
  await clean(page, 'an invitation is open');
  const link = await world.letterLink(/\/invitations\/\w+/);
  const context = await browser.newContext();
  const friend = await context.newPage();
  await friend.goto(world.base + link);
  await clean(friend, 'an invitation is looked at');
  await friend.getByLabel('A password for your account').fill('long enough');
  await go(friend.getByRole('button', { name: 'Make my account and join' }));
  await page.reload();
  await page.getByLabel('To', { exact: true }).selectOption({ label: 'friend@example.org' });
  await go(page.getByRole('button', { name: 'Offer it' }));
  await clean(page, 'an offer is made');
  await go(friend.getByRole('link', { name: 'Team' }));
  await clean(friend, 'an offer is there');
  await go(friend.getByRole('button', { name: 'Take it over' }));
  assert.match(await friend.locator('main').innerText(), /Hand the project over/);
  await page.reload();
  await go(page.getByRole('button', { name: 'Leave this project' }));
  await page.waitForURL(/\/projects$/);
  await context.close();
  await page.context().close();
}

/** Nothing on a page is hard to reach, see or hit. */
async function clean(page, when) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ rules: { 'target-size': { enabled: true } } }));
  assert.deepEqual(violations.map(one => `${one.id}: ${one.nodes.map(node => node.target).join(', ')}`), [], when);
}

async function keyboard(state) {
  const page = await member(state);
  await page.goto(`${world.base}/projects/${world.owner.project}`);
  await page.keyboard.press('Tab');
  assert.equal(await page.locator(':focus').innerText(), 'Skip to the content');
  await page.keyboard.press('Enter');
  const reached = new Set();
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.innerText ?? '');
    if (name.length < 200) reached.add(name.trim());
  }
  for (const name of ['New check', 'Select Search index', 'Dump of the main database', 'Apply']) {
    assert.ok(reached.has(name), `${name} is reached: ${[...reached].join(' | ')}`);
  }
  await page.context().close();
}

async function awkward(state, { awkward: uuid, channels }) {
  const page = await member(state, { javaScriptEnabled: true });
  let alerts = 0;
  page.on('dialog', dialog => { alerts++; dialog.dismiss(); });
  for (const address of [`/projects/${world.owner.project}`, `/checks/${uuid}`, `/checks/${uuid}/edit`, `/checks/${uuid}/log/1`, `/projects/${world.owner.project}/channels`, `/channels/${channels[1]}`, `/projects/${world.owner.project}/wall`, `/projects/${world.owner.project}/badges`]) {
    await page.goto(world.base + address);
    assert.equal(await page.locator('main b:text("x"), main i:text("tag"), main script').count(), 0, address);
  }
  assert.equal(await page.goto(`${world.base}/checks/${uuid}/edit`).then(() => page.getByLabel('Name').inputValue()), AWKWARD);
  assert.equal(alerts, 0);
  await page.context().close();
}
