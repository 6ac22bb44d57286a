// The pages in Debian's Chromium or Firefox: looked at one by one, and used, mostly without a script.
// Usage: tests/run browser, or beside a built program `tests/browser/run [PART OF A NAME ...]` for both browsers, or
// `node suite.mjs firefox [PART OF A NAME ...]`.
import { createHmac } from 'node:crypto';
import { strict as assert } from 'node:assert';
import { go, launch } from './browsers.mjs';
import { blockers, clean, eyes } from './look.mjs';
import { api, fill, keyOf, ping, start, AWKWARD } from './world.mjs';
import { pages, routes } from './pages.mjs';
import { passkeys } from './passkeys.mjs';

/** Which browser, and parts of tests' names: only those run. */
const [kind, ...only] = process.argv.slice(2);
const isChromium = kind === 'chromium';
/** Long enough for a busy machine, and far less than the minute after which a page that hears nothing looks by itself. */
const SHOWN = { timeout: 20_000 };
const results = { passed: 0, failed: 0 };
async function test(name, work) {
  if (only.length && !only.some(part => name.includes(part))) return;
  const begun = Date.now();
  try {
    await work();
    results.passed++;
    console.log(`ok   ${name} (${seconds(begun)})`);
  } catch (error) {
    results.failed++;
    console.log(`FAIL ${name} (${seconds(begun)})\n${error.stack ?? error}`);
  }
}

const seconds = since => `${((Date.now() - since) / 1000).toFixed(1)}s`;
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
console.log(`${results.passed} passed, ${results.failed} failed in ${seconds(begun)}`);
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
  const unseen = Object.entries(all).filter(([, seen]) => seen);
  await Promise.all([atPages(unseen, state), atPages(unseen, state), isChromium && test('no ad blocker changes anything', () => blockers(all, world.base, state))]);
  await Promise.all([atChecks(state, uuids), atAccounts(state)]);
}

/** Looks at pages until none is left; several do so side by side. */
async function atPages(unseen, state) {
  const { look, close } = await eyes(browser, world.base, state);
  for (let next; (next = unseen.shift());) {
    const [route, seen] = next;
    await test(`${route} is accessible, in one piece and on its own`, () => look(seen));
  }
  await close();
}

/** What is done with the checks of one project, one after another. */
async function atChecks(state, uuids) {
  await test('a check is made, previewed and edited without a script', () => forms(state));
  await test('of two who edit at once the second sees both versions', () => conflict(state, uuids.fresh));
  await test('a deletion can be undone', () => undo(state, uuids.paused));
  await test('an open page follows a ping within two seconds, ticks and focus kept', () => follow(state, uuids));
  await test('a page that was asleep or cut off catches up', () => catchUp(state, uuids));
  await test('the keyboard reaches everything, the content first', () => keyboard(state));
  await test('an awkward name stays text, everywhere', () => awkward(state, uuids));
}

/** What people do with accounts and projects of their own. */
async function atAccounts(state) {
  await test('somebody is invited, joins and takes the project over', () => team(state));
  await test('a second factor is set up, the address changed, and both asked for', secondFactor);
  if (isChromium) await test('a passkey is made, signs in alone, and is removed', () => passkeys(browser, world));
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
