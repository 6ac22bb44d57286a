#!/bin/bash
# make-lists.sh [FOLDER] - rebuild the lists (default: lists/) from package registries only (Debian and npm). Needs: apt, dpkg-deb, npm, node.
# The results are committed or cached; the checker itself never touches the network.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); out=$(realpath -m "${1:-$here/lists}"); tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT; cd "$tmp"
UBO=1.67.0+dfsg-1~deb12u1; AG=3.3.20260320140136
apt-get download -q "webext-ublock-origin-chromium=$UBO" 2>/dev/null || apt-get download -q webext-ublock-origin-chromium 2>/dev/null \
  || { apt-get update -q; apt-get download -q webext-ublock-origin-chromium; }
deb=$(ls webext-ublock-origin-chromium_*.deb); dpkg-deb -x "$deb" deb
date=$(stat -c %y deb/usr/share/chromium/extensions/ublock-origin/assets/thirdparties/easylist/easylist.txt | cut -d' ' -f1)
npm pack -s "@adguard/dnr-rulesets@$AG" >/dev/null; mkdir ag; tar xzf adguard-dnr-rulesets-*.tgz -C ag
mkdir -p "$out"; r() { node "$here/reduce-list.mjs" "$@"; }
D=deb/usr/share/chromium/extensions/ublock-origin/assets; S="Debian package ${deb%.deb}"
EL="GPL-3.0-or-later or CC-BY-SA-3.0-or-later, (c) The EasyList authors (easylist.to/pages/licence.html)"
r $D/thirdparties/easylist/easylist.txt "$out/easylist.txt" EasyList "$S" "$date (package)" "$EL"
r $D/thirdparties/easylist/easyprivacy.txt "$out/easyprivacy.txt" EasyPrivacy "$S" "$date (package)" "$EL"
for f in filters privacy quick-fixes unbreak badware; do cat $D/ublock/$f.min.txt; echo; done > ubo.txt
r ubo.txt "$out/ublock-filters.txt" "uBlock filters: ads, privacy, badware, quick fixes, unbreak" "$S" "$date (package)" "GPL-3.0 (uBlockOrigin/uAssets)"
for i in 2:base 3:tracking 4:social 11:mobile 17:url-tracking 18:cookies 19:popups 20:app-banners 21:other-annoyances 22:widgets; do
  n=${i%%:*}; node -e 'const d=JSON.parse(require("fs").readFileSync(process.argv[1]));require("fs").writeFileSync(process.argv[2],d[0].metadata.rawFilterList)' ag/package/dist/filters/declarative/ruleset_$n/ruleset_$n.json ag-$n.txt
  r ag-$n.txt "$out/adguard-${i#*:}.txt" "AdGuard ${i#*:}" "npm package @adguard/dnr-rulesets $AG (rawFilterList of ruleset_$n)" "${AG:4:4}-${AG:8:2}-${AG:10:2}" "GPL-3.0"
done
