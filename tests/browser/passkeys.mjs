// Passkeys in Chromium, with an authenticator of its own that is always at hand: made, used, refused, removed.
import { strict as assert } from 'node:assert';
import { go } from './browsers.mjs';

const EMAIL = 'keys@example.org';

export async function passkeys({ browser, world, clean }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const device = await authenticator(context, page);
  await page.goto(world.account(EMAIL).sign_in_url);
  await go(page.getByRole('button', { name: 'Sign in' }));
  await page.waitForURL(/\/projects\//);

  await make(page, world, 'Laptop', clean);
  await page.waitForURL(/\/account\/passkeys$/);
  await page.getByRole('row', { name: /Laptop.*never/s }).waitFor();
  const [held] = await device.credentials();
  assert.deepEqual([held.rpId, held.isResidentCredential], ['localhost', true]);
  await page.getByText('Rename or remove').click();
  await clean(page, 'a passkey can be renamed');
  await page.getByLabel('Another name').fill('The laptop on my desk');
  await go(page.getByRole('button', { name: 'Rename' }));
  await page.getByRole('row', { name: /The laptop on my desk/ }).waitFor();
  await make(page, world, 'Once more', clean);
  await page.getByRole('alert').getByText('This device has a passkey of yours already.').waitFor();
  await clean(page, 'no second one is made');

  for (const round of [1, 2]) {
    await signOut(page);
    const before = (await device.credentials())[0].signCount;
    await use(page, world, '/account');
    await page.waitForURL(/\/account$/);
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), `Signed in as ${EMAIL}`);
    assert.ok((await device.credentials())[0].signCount > before, `round ${round}`);
  }
  await page.goto(`${world.base}/account/passkeys`);
  assert.equal(await page.getByRole('row', { name: /never/ }).count(), 0);

  await refusals(page, world, device, clean);
  await withoutScript(browser, world);
}

/** A device that has a PIN, keeps passkeys and answers at once. */
async function authenticator(context, page) {
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
  const send = (method, more = {}) => session.send(`WebAuthn.${method}`, { authenticatorId, ...more });
  return {
    credentials: async () => (await send('getCredentials')).credentials,
    knowsItsUser: isUserVerified => send('setUserVerified', { isUserVerified }),
    add: credential => send('addCredential', { credential }),
    clear: () => send('clearCredentials'),
  };
}

async function make(page, world, name, clean) {
  await page.goto(`${world.base}/account/passkeys`);
  await page.getByLabel('Name', { exact: true }).fill(name);
  await go(page.getByRole('button', { name: 'Go on' }));
  await page.getByRole('heading', { name: 'Make the passkey' }).waitFor();
  await clean(page, 'a passkey is about to be made');
  await page.getByRole('button', { name: 'Make it' }).click();
}

async function signOut(page) {
  await page.locator('.menu.end > summary').click();
  await go(page.getByRole('button', { name: 'Sign out' }));
  await page.waitForURL(/\/sign-in$/);
}

async function use(page, world, next = '/') {
  await page.goto(`${world.base}/sign-in?next=${encodeURIComponent(next)}`);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
}

async function refusals(page, world, device, clean) {
  await signOut(page);
  await device.knowsItsUser(false);
  await use(page, world);
  await page.getByRole('alert').getByText('No passkey was given.').waitFor();
  await clean(page, 'the device did not verify its user');
  await device.knowsItsUser(true);

  const [held] = await device.credentials();
  await device.clear();
  await device.add({ ...held, signCount: 1 });
  await use(page, world);
  await page.getByText('This passkey was not taken.').waitFor();
  await clean(page, 'the count went back');
  await device.clear();
  await device.add({ ...held, signCount: held.signCount + 10 });
  await use(page, world);
  await page.waitForURL(/\/projects\//);

  await page.goto(`${world.base}/account/passkeys`);
  await page.getByText('Rename or remove').click();
  await go(page.getByRole('button', { name: 'Remove' }));
  await page.waitForURL(/\/account\/passkeys$/);
  assert.equal(await page.getByText('Rename or remove').count(), 0);
  await signOut(page);
  await use(page, world);
  await page.getByText('This passkey was not taken.').waitFor();

  const elsewhere = { base: world.base.replace('localhost', '127.0.0.1') };
  await use(page, elsewhere);
  await page.getByRole('alert').getByText('The browser takes no passkeys at this address.').waitFor();
}

async function withoutScript(browser, world) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(world.account('plain@example.org').sign_in_url);
  await go(page.getByRole('button', { name: 'Sign in' }));
  await page.goto(`${world.base}/account/passkeys`);
  await page.getByText('Adding one takes a script').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Go on' }).isVisible(), false);
  await context.clearCookies();
  await page.goto(`${world.base}/sign-in`);
  assert.equal(await page.getByText('Sign in with a passkey').isVisible(), false);
  await page.getByRole('button', { name: 'Mail me a link' }).waitFor();
  await context.close();
}
