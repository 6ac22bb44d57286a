// Takes the README's pictures from a demonstration. After `./run` has installed what it needs: `node pictures.mjs`.
import fs from 'node:fs';
import path from 'node:path';
import { go, launch } from './browsers.mjs';
import { root, start } from './world.mjs';

const PICTURES = [['checks.png', 'light'], ['check.png', 'dark']];
const NAME = 'Customer database dump';
const folder = path.join(root, 'static/pictures');

fs.mkdirSync(folder, { recursive: true });
const world = await start({ demo: true });
const browser = await launch('chromium');
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(world.owner.sign_in_url);
  await go(page.locator('main button'));
  for (const [file, colorScheme] of PICTURES) {
    await page.emulateMedia({ colorScheme });
    if (file === 'check.png') await go(page.getByRole('link', { name: NAME }).first());
    await page.screenshot({ path: path.join(folder, file) });
    console.log(`wrote static/pictures/${file}`);
  }
} finally {
  await browser.close();
  await world.stop();
}
