// Keeps an open page true. The server says over server-sent events which checks changed; the page then asks for that
// part of itself, rendered by the same template, and puts it in place of the old. A page that does not hear looks
// again now and then. Without this script every page is whole; it only refreshes.
'use strict';
(() => {
  const SLOW = 60_000;
  const page = document.querySelector('[data-live]');
  if (!page) return;
  const only = page.dataset.only;
  const state = () => document.getElementById('state').dataset;
  let offset = state().now - Date.now();
  let source, slow, timer, later, running = false, wanted = new Set();

  /** Asks for a part of the page: `all`, or the rows of some checks. */
  async function refresh(part) {
    wanted.add(part);
    if (running) return;
    running = true;
    try {
      while (wanted.size) {
        const all = wanted.has('all') || wanted.size > 50;
        const part = all ? 'all' : [...wanted].join();
        wanted.clear();
        const answer = await fetch(location.href, { headers: { 'X-Part': part }, cache: 'no-store' });
        // Signed out, or no member any more: the page itself says so.
        if (answer.redirected || answer.status === 403 || answer.status === 404) return location.reload();
        if (!answer.ok) break;
        const fresh = document.createElement('template');
        fresh.innerHTML = await answer.text();
        if (!put(fresh.content, all ? null : part.split(','))) wanted.add('all');
      }
    } catch { /* the line is cut; whoever comes back looks again */ } finally {
      running = false;
    }
  }

  /** Puts fresh parts in place; false where rows do not suffice. */
  function put(fresh, rows) {
    const parts = [...fresh.querySelectorAll('[data-part]')];
    const old = [...document.querySelectorAll('[data-part]')];
    if (parts.map(part => part.id).join() !== old.map(part => part.id).join()) {
      if (busy(document.body)) postpone(); else location.reload();
      return true;
    }
    const list = rows && fresh.getElementById('rows');
    if (list) {
      for (const id of rows) {
        const [before, after] = [document.getElementById(`r-${id}`), fresh.getElementById(`r-${id}`)];
        if (!before && !after) continue;
        if (before?.dataset.order !== after?.dataset.order) return false;
        replace(before, after);
      }
    }
    for (const part of parts) if (part !== list) replace(document.getElementById(part.id), part);
    settle();
    return true;
  }

  /** Whether somebody is typing there, or marking text. */
  function busy(element) {
    const at = document.activeElement;
    const types = element.contains(at) && at.matches('input:not([type=checkbox]), textarea, select');
    const marks = getSelection();
    return types || (!marks.isCollapsed && element.contains(marks.anchorNode));
  }

  function postpone() {
    clearTimeout(later);
    later = setTimeout(refresh, 5_000, 'all');
  }

  /** Replaces an element; ticks, opened details and the focus stay. */
  function replace(before, after) {
    if (before.outerHTML === after.outerHTML) return;
    if (busy(before)) return postpone();
    const opened = [...before.querySelectorAll('details')].map(one => [key(one), one.open]);
    const ticked = [...before.querySelectorAll('[type=checkbox]')].map(one => [one.value, one.checked]);
    const reachable = 'a, button, input, summary';
    const at = [...before.querySelectorAll(reachable)].indexOf(document.activeElement);
    before.replaceWith(after);
    for (const [name, open] of opened) for (const one of after.querySelectorAll('details')) if (key(one) === name) one.open = open;
    for (const [value, is] of ticked) for (const one of after.querySelectorAll('[type=checkbox]')) if (one.value === value) one.checked = is;
    if (at >= 0) after.querySelectorAll(reachable)[at]?.focus({ preventScroll: true });
  }

  const key = details => details.closest('[id]').id + details.querySelector('summary').textContent;

  /** What follows from a fresh state: title, icon, clock, the next look. */
  function settle() {
    const { title, icon, now, again } = state();
    document.title = title;
    const link = document.querySelector('link[rel=icon]');
    if (link.getAttribute('href') !== icon) link.href = icon;
    offset = now - Date.now();
    clearTimeout(timer);
    if (again) timer = setTimeout(refresh, Math.min(Math.max(again - now, 0) + 500, 2 ** 31 - 1), 'all');
    age();
  }

  /** Words the near instants anew, as the server does. */
  function age() {
    for (const time of document.querySelectorAll('time[datetime]')) {
      if (!/^(now|in \d+ (s|min|h)|\d+ (s|min|h) ago)$/.test(time.textContent)) continue;
      const away = (Date.parse(time.dateTime) - Date.now() - offset) / 1000;
      const span = Math.floor(Math.abs(away));
      const said = span < 60 ? `${span} s` : span < 3600 ? `${Math.floor(span / 60)} min` : `${Math.floor(span / 3600)} h`;
      const text = span === 0 ? 'now' : away < 0 ? `${said} ago` : `in ${said}`;
      if (time.textContent !== text) time.textContent = text;
    }
  }

  function listen() {
    clearTimeout(slow);
    source?.close();
    source = new EventSource(page.dataset.live);
    source.addEventListener('version', event => { if (event.data !== state().version) refresh('all'); });
    source.addEventListener('changed', ({ data }) => {
      if (data === 'all') return refresh('all');
      const checks = data.split(',');
      if (!only) checks.forEach(refresh);
      else if (checks.includes(only)) refresh('all');
    });
    // A cut line is made anew by the browser; after a refusal it is tried again slowly.
    source.addEventListener('error', () => { if (source.readyState === EventSource.CLOSED) lookSlowly(); });
  }

  function lookSlowly() {
    source?.close();
    clearTimeout(slow);
    slow = setTimeout(() => { refresh('all'); if (document.hidden) lookSlowly(); else listen(); }, SLOW);
  }

  // Browsers keep few connections to one host: a page that nobody sees gives its own back.
  document.addEventListener('visibilitychange', () => { if (document.hidden) lookSlowly(); else listen(); });
  addEventListener('pagehide', () => source?.close());
  addEventListener('pageshow', event => { if (event.persisted) listen(); });
  setInterval(age, 15_000);
  settle();
  listen();
})();
