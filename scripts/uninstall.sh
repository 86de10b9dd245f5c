#!/usr/bin/env bash
# Removes from the prefix $1 what install.sh has put there, and the directories that are empty then.
set -euo pipefail

prefix=${DESTDIR:-}${1:-}
if [ -z "${1:-}" ] || [ ! -f "$prefix/share/rosbagd/installed.txt" ]; then
  echo "make uninstall: no rosbagd in '$prefix', as in: make uninstall PREFIX=/opt/rosbagd" >&2
  exit 2
fi
cd "$prefix"
mapfile -t files <share/rosbagd/installed.txt
rm -f -- "${files[@]}"
for file in "${files[@]}"; do
  rmdir --ignore-fail-on-non-empty -p -- "$(dirname -- "$file")" 2>/dev/null || true
done
# Some directories of generated headers have never had a file.
if [ -d include ]; then
  find include -depth -type d -empty -delete
fi
cd /
rmdir --ignore-fail-on-non-empty -- "$prefix"
