#!/usr/bin/env bash
# Packs the command for 64-bit x86 Linux: pack.sh WIRELOOM MAN COMPLETIONS OUT
# OUT gets a Debian package, a wheel, an archive, a list of what is in the command (CycloneDX) and checksums, or
# stays as it was. Two runs on one commit make the same files.
set -euo pipefail
wireloom=$(realpath "$1") man=$(realpath "$2") completions=$(realpath "$3")
mkdir -p "$4"
out=$(realpath "$4")
cd "$(dirname "$0")/../.."
export LC_ALL=C SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# The newest glibc that the command may ask for: that of Debian 12.
glibc=2.36

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || {
  echo "error: packages are made on 64-bit x86 Linux; elsewhere: cargo install --path crates/cli --locked." >&2
  exit 2
}
scripts/need.sh dist
scripts/venv.sh .cache/tools/dist scripts/dist/requirements.txt "what packs wheels and lists of components"
python=.cache/tools/dist/bin/python3
# Beside the packages, so that they appear by renaming even when the disk is nearly full.
scratch=$(mktemp -d "$out/.packing.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# The symbols of glibc that are newer.
newer=$(objdump -T "$wireloom" | { grep -oE 'GLIBC_[0-9.]+\)? +.*' || true; } | sed -E 's/^GLIBC_([0-9.]+)\)? +/\1 /' |
  while read -r version symbol; do
    [ "$(printf '%s\n' "$version" "$glibc" | sort -V | tail -n 1)" = "$glibc" ] || echo "$symbol ($version)"
  done)
if [ -n "$newer" ]; then
  echo "error: $wireloom needs a glibc that is newer than $glibc: $(echo "$newer" | head -n 5 | paste -sd ' ')." \
    "Build it on Debian 12 (Containerfile)." >&2
  exit 2
fi

version=$("$wireloom" --version | cut -d ' ' -f 2)
made=$scratch/made
mkdir "$made"

# What every package has: PREFIX/bin, PREFIX/share.
tree() {
  local share=$1/share
  install -D -m 755 "$wireloom" "$1/bin/wireloom"
  install -D -m 644 -t "$share/man/man1" "$man"/*.1
  gzip -9n "$share"/man/man1/*.1
  install -D -m 644 "$completions/wireloom.bash" "$share/bash-completion/completions/wireloom"
  install -D -m 644 "$completions/_wireloom" "$2/_wireloom"
  install -D -m 644 "$completions/wireloom.fish" "$3/wireloom.fish"
  local doc=$share/doc/wireloom
  mkdir -p "$doc/examples"
  git ls-files -z README.md CHANGELOG.md SECURITY.md docs ':!docs/figures' | xargs -0 cp --parents -t "$doc"
  git ls-files -z programs | xargs -0 cp --parents -t "$doc/examples"
  cp crates/cli/packaging/forward.toml "$doc/examples/"
  cp LICENSE "$doc/copyright"
}

debian() {
  local root=$scratch/deb
  tree "$root/usr" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
  install -D -m 644 crates/cli/packaging/wireloom.service "$root/usr/lib/systemd/system/wireloom.service"
  mkdir -p "$scratch/shlibs/debian" "$root/DEBIAN"
  touch "$scratch/shlibs/debian/control"
  local libraries
  libraries=$(cd "$scratch/shlibs" && dpkg-shlibdeps -O "$root/usr/bin/wireloom" 2>/dev/null)
  {
    sed "s/@VERSION@/$version/; s/@LIBRARIES@/${libraries#shlibs:Depends=}/" crates/cli/packaging/control
    echo "Installed-Size: $(du -sk "$root" | cut -f 1)"
  } > "$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
  find "$root" -type d -exec chmod 755 {} + -o -type f ! -perm -100 -exec chmod 644 {} +
  dpkg-deb --root-owner-group --build "$root" "$made/wireloom_${version}_amd64.deb" >/dev/null
}

archive() {
  local name=wireloom-$version-x86_64-linux
  local root=$scratch/$name
  tree "$root" "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d"
  find "$root" -type d -exec chmod 755 {} + -o -type f ! -perm -100 -exec chmod 644 {} +
  tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" |
    gzip -9n > "$made/$name.tar.gz"
}

debian
archive
"$python" scripts/dist/wheel.py "$wireloom" "$version" "$glibc" "$made"
"$python" scripts/dist/components.py "$version" > "$made/wireloom-$version.cdx.json"
(cd "$made" && sha256sum -- *) > "$scratch/SHA256SUMS"
mv "$scratch/SHA256SUMS" "$made/"
rm -f "$out"/wireloom[-_]* "$out/SHA256SUMS"
mv "$made"/* "$out/"
(cd "$out" && ls -sh1 | tail -n +2)
