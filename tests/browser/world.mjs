// A world for the browser: the real program on a database of its own, an account, and checks in every state.
import { spawn, execFileSync } from 'node:child_process';
import dns from 'node:dns';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// The program listens on IPv4 alone.
dns.setDefaultResultOrder('ipv4first');

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const program = process.env.FLATLINE_TEST_PROGRAM ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'debug/flatline');

const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer().on('error', reject);
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});

/** Starts the program, with an account or with a demonstration; `stop` ends it and removes its data. */
export async function start({ demo = false } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'flatline-browser-'));
  const port = await freePort();
  // By the machine's name, for browsers take passkeys only where there is one.
  const base = `http://localhost:${port}`;
  const env = {
    PATH: process.env.PATH,
    FLATLINE_LISTEN: `127.0.0.1:${port}`,
    FLATLINE_SITE_URL: base,
    FLATLINE_DATA_DIR: folder,
    FLATLINE_DATABASE_URL: `sqlite://${folder}/flatline.db`,
    FLATLINE_MAIL_FROM: 'flatline@example.org',
    FLATLINE_LOG: 'warn',
  };
  const account = email => JSON.parse(execFileSync(program, ['account', 'create', '--email', email, '--json'], { env }));
  const played = () => ({ sign_in_url: /http\S+\/sign-in\/\S+/.exec(execFileSync(program, ['demo'], { env, encoding: 'utf8' }))[0] });
  const owner = demo ? played() : account('owner@example.org');
  const child = spawn(program, ['serve'], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  for (let tries = 0; ; tries++) {
    try { if ((await fetch(`${base}/healthz`)).ok) break; } catch { /* not yet */ }
    if (tries > 300 || child.exitCode !== null) throw new Error('the program does not listen');
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const ended = new Promise(resolve => child.on('exit', resolve));
  const stop = async () => { child.kill('SIGTERM'); await ended; fs.rmSync(folder, { recursive: true }); };
  /** The newest path in a letter that looks like `pattern`. */
  const letterLink = async pattern => {
    for (let tries = 0; tries < 200; tries++) {
      const outbox = path.join(folder, 'outbox');
      const letters = fs.existsSync(outbox) ? fs.readdirSync(outbox).sort().reverse() : [];
      const texts = letters.map(name => fs.readFileSync(path.join(outbox, name), 'utf8').replaceAll('=\r\n', ''));
      const found = texts.map(text => text.match(pattern)).find(Boolean);
      if (found) return found[0];
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    throw new Error(`no letter holds ${pattern}`);
  };
  return { base, owner, account, stop, letterLink };
}

/** Calls the Management API. */
export async function api({ base, owner }, method, where, body) {
  const answer = await fetch(`${base}/api/v3/${where}`, { method, headers: { 'X-Api-Key': owner.api_key }, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${where}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export async function ping({ base }, uuid, suffix = '', body) {
  const answer = await fetch(`${base}/ping/${uuid}${suffix}`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`ping ${suffix}: ${answer.status}`);
}

export const AWKWARD = `<b>x</b> "'& \u0646\u0633\u062e \u202eevil \u{1f525} ${'long '.repeat(14)}`.slice(0, 100).trim();

/** Checks that are down, up, new, running and paused, one with an awkward name; returns their uuids by name. */
export async function fill(world) {
  const check = async spec => (await api(world, 'POST', 'checks/', { channels: '*', ...spec })).uuid;
  const uuids = {
    down: await check({ name: 'Dump of the main database', tags: 'backup database', schedule: '30 2,8,14,20 * * *', tz: 'Europe/Berlin', grace: 2700, slug: 'dump', desc: 'Dumps to /srv/backup.\nWhen the disk is full: move old ones.' }),
    up: await check({ name: 'Certificate renewal', tags: 'web', schedule: '17 4 * * *', tz: 'Europe/Berlin' }),
    fresh: await check({ name: 'Snapshots', timeout: 86400, grace: 3600 }),
    running: await check({ name: 'Search index', tags: 'web', timeout: 3600 }),
    paused: await check({ name: 'Staging refresh', schedule: 'Mon 01:00', manual_resume: true }),
    awkward: await check({ name: AWKWARD, tags: '<i>tag</i> "x' }),
  };
  await ping(world, uuids.down, '/start');
  await ping(world, uuids.down, '/1', '\u001b[31merror: no space left\u001b[0m\n<script>alert(1)</script>\n');
  await ping(world, uuids.up);
  await ping(world, uuids.up, '/log', Buffer.from([0, 1, 2, 250, 251]));
  await ping(world, uuids.running);
  await ping(world, uuids.running, '/start');
  await ping(world, uuids.awkward, '', AWKWARD);
  await api(world, 'POST', `checks/${uuids.paused}/pause`);
  uuids.channels = [];
  for (const [name, kind, config] of [
    ['', 'webhook', { down: { method: 'POST', url: 'http://127.0.0.1:9/hook', headers: { 'X-One': '1' }, body: '$JSON' } }],
    [AWKWARD, 'email', { address: 'desk@example.org' }],
  ]) {
    const uuid = crypto.randomUUID();
    uuids.channels.push((await api(world, 'PUT', `channels/${uuid}`, { kind, name, config })).id);
  }
  await api(world, 'POST', `channels/${uuids.channels[0]}/test`);
  return uuids;
}
