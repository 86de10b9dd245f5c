#!/usr/bin/env bash
# Removes from the prefix $1 what install.sh has put there, and the directories that are empty then.
set -euo pipefail

prefix=
if [ -n "${1:-}" ]; then
  prefix=${DESTDIR:-}$(cd "$(dirname "$0")/.." && realpath -ms -- "$1") # as install.sh
fi
if [ -z "$prefix" ] || [ ! -f "$prefix/share/rosbagd/installed.txt" ]; then
  echo "make uninstall: no rosbagd in '$prefix', as in: make uninstall PREFIX=/opt/rosbagd" >&2
  exit 2
fi
cd -- "$prefix"
mapfile -t files <share/rosbagd/installed.txt
files=("${files[@]/#/./}") # below the prefix, also where a line begins with a slash
rm -f -- "${files[@]}"
for file in "${files[@]}"; do
  rmdir --ignore-fail-on-non-empty -p -- "$(dirname -- "$file")" 2>/dev/null || true
done
# Some directories of generated headers have never had a file.
if [ -d include ]; then
  find include -depth -type d -empty -delete
fi
cd /
rmdir --ignore-fail-on-non-empty -- "$prefix" 2>/dev/null || true # / itself stays
