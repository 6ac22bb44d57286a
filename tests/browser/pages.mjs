// Every page there is, as the router has it: a page that is not named here fails the suite.
import fs from 'node:fs';
import path from 'node:path';
import { keyOf, root } from './world.mjs';

/** Routes of pages that answer GET, read from the source. */
export function routes() {
  const found = new Set();
  const folders = [path.join(root, 'src/http/web')];
  while (folders.length) {
    const folder = folders.pop();
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) folders.push(path.join(folder, entry.name));
      else if (entry.name.endsWith('.rs')) {
        const text = fs.readFileSync(path.join(folder, entry.name), 'utf8');
        for (const [, route] of text.matchAll(/\.route\(\s*"([^"]+)",\s*get\(/g)) found.add(route);
      }
    }
  }
  return [...found].sort();
}

/** Addresses to look at, by route. `guest` pages are looked at by nobody in particular; `null` is no page, or one
 * that shows itself only on the way: the test of the second factor looks at it. */
export function pages({ owner }, uuids) {
  const project = `/projects/${owner.project}`;
  const { wall, channels, ...checks } = uuids;
  const keys = Object.fromEntries(Object.entries(checks).map(([name, uuid]) => [name, keyOf(uuid)]));
  return {
    '/': null,
    '/static/{file}': null,
    '/checks/{check}/log/{n}/body': null,
    '/docs/api': { guest: ['/docs/api'] },
    '/sign-in': { guest: ['/sign-in', '/sign-in?next=%2Faccount'] },
    '/sign-in/{token}': { guest: ['/sign-in/used'], status: 410 },
    '/sign-up': { guest: ['/sign-up'] },
    '/sign-up/{token}': { guest: ['/sign-up/used'], status: 410 },
    '/mail/{verb}/{token}': { guest: ['/mail/pause/none'], status: 404 },
    '/sign-in/code': null,
    '/account': { member: ['/account'] },
    '/account/email/{token}': null,
    '/account/second-factor': { member: ['/account/second-factor'] },
    '/account/passkeys': { member: ['/account/passkeys'] },
    '/account/delete': { member: ['/account/delete'] },
    '/usage': { member: ['/usage'] },
    '/invitations/{token}': { guest: ['/invitations/used'], status: 410 },
    '/projects': { member: ['/projects', '/projects?deleted=none'] },
    '/projects/{project}/team': { member: [`${project}/team`] },
    '/projects/{project}/settings': { member: [`${project}/settings`] },
    '/docs': { guest: ['/docs'], member: ['/docs'] },
    '/docs/{page}': { guest: ['/docs/shell', '/docs/schedules'], member: ['/docs/shell', `/docs/systemd?check=${keys.awkward}`, '/docs/healthchecks'] },
    '/projects/{project}': { member: [project, `${project}?status=down`, `${project}?q=nothing-like-it`, `${project}?tag=web&sort=name`, `${project}?deleted=${Date.now()}`] },
    '/projects/{project}/events': null,
    '/wall/{key}/events': null,
    '/projects/{project}/wall': { member: [`${project}/wall`, `${project}/wall?refresh=60`] },
    '/wall/{key}': { guest: [`/wall/${wall}`] },
    '/projects/{project}/badges': { member: [`${project}/badges`, `${project}/badges?format=json&states=2`] },
    '/projects/{project}/channels': { member: [`${project}/channels`, `${project}/channels?deleted=1`] },
    '/projects/{project}/new-channel/{kind}': { member: ['email', 'webhook'].map(kind => `${project}/new-channel/${kind}`) },
    '/channels/{channel}': { member: channels.flatMap(uuid => [`/channels/${uuid}`, `/channels/${uuid}?tested=1`]) },
    '/projects/{project}/new-check': { member: [`${project}/new-check`] },
    '/checks/{check}': { member: Object.values(keys).map(key => `/checks/${key}`).concat(`/checks/${keys.down}?days=90&kind=failures`) },
    '/checks/{check}/edit': { member: [keys.down, keys.fresh, keys.awkward].map(key => `/checks/${key}/edit`) },
    '/checks/{check}/move': { member: [keys.down, keys.awkward].map(key => `/checks/${key}/move`) },
    '/checks/{check}/log/{n}': { member: [`/checks/${keys.down}/log/2`, `/checks/${keys.up}/log/2`] },
  };
}
