import { spawnSync } from 'node:child_process';

const ping = 'PING_URL';

async function tell(signal, body) {
  try {
    await fetch(ping + signal, { method: 'POST', body, signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    console.error('ping failed:', error.message);
  }
}

await tell('/start');
const job = spawnSync('nightly-backup', { encoding: 'utf8' });
await tell(`/${job.status ?? 'fail'}`, job.stdout + job.stderr);
process.exitCode = job.status ?? 1;
