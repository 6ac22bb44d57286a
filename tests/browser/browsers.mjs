// The browsers of the suite, and how it goes from page to page.
import { chromium, firefox } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic'];

/** Starts Debian's Chromium, or its Firefox, which is driven over WebDriver BiDi. */
export function launch(kind) {
  return kind === 'chromium'
    ? chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS })
    : firefox.launch({ channel: 'moz-firefox', executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr' });
}

/** Clicks what leads to a page and waits until that is loaded: whatever is asked before may ask the old one. */
export async function go(element) {
  await Promise.all([element.page().waitForEvent('load'), element.click()]);
}
