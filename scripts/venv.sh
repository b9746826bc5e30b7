#!/usr/bin/env bash
# Makes a virtual environment with pinned packages of PyPI: venv.sh FOLDER PINS WHAT [HINT]
# A stamp holds the pins, the folder's path (a virtual environment cannot be moved) and this script.
# If it agrees, nothing is done. WHAT is what the message says is installed; HINT is added
# to the message if that fails.
set -euo pipefail

folder=$1 pins=$2 what=$3 hint=${4:-}
stamp=$folder/.complete
wanted=$(echo "$folder"; cat "$pins" "$0")
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit
fi

"$(dirname "$0")/need.sh" python
echo "installing $what into $folder, once" >&2
rm -rf "$folder"
python=python3
"$python" -c 'import venv, ensurepip' 2>/dev/null || python=/usr/bin/python3 # the one that Debian's packages are for
"$python" -m venv "$folder"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "$folder/bin/python3" -m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: \
  --require-hashes -r "$pins" >"$log" 2>&1; then
  cat "$log" >&2
  echo "error: the packages of $pins cannot be installed: they need 64-bit Linux (on x86; Unicorn also on ARM), Python 3.9 or newer" \
    "and PyPI or a mirror of it$hint." >&2
  exit 2
fi
echo "$wanted" > "$stamp"
