#!/usr/bin/env bash
# Builds the page of `wireloom monitor`: page.sh. The packages are those of
# crates/monitor/page/package-lock.json; npm puts them into .cache/page, where they stay. A page that
# is newer than its sources is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
sources=crates/monitor/page
built=$sources/dist/page.html
if [ -e "$built" ] && [ -z "$(find "$sources" -path "$sources/dist" -prune -o -type f -newer "$built" -print -quit)" ]; then
  exit
fi
scripts/need.sh page
work=.cache/page
mkdir -p "$work" "$sources/dist"
rm -rf "$work/src"
cp -R "$sources"/{src,index.html,build.mjs,test.mjs,tsconfig.json,package.json,package-lock.json} "$work"
cd "$work"
if ! cmp -s package-lock.json node_modules/.installed; then
  # No package runs a script of its own here.
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed
fi
npm run --silent check
npm run --silent build
cd - >/dev/null
cp "$work/dist/page.html" "$built.new"
mv "$built.new" "$built"
