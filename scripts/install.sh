#!/usr/bin/env bash
# Installs what `make build` has built into the prefix $1; DESTDIR is honoured. Runs with the settings of ros_prefix.py.
# What was installed is listed in share/rosbagd/installed.txt of the prefix, for uninstall.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${1:-}" ]; then
  echo "make install: say where, as in: make install PREFIX=/opt/rosbagd" >&2
  exit 2
fi
prefix=$(realpath -ms -- "$1")
prefix=${prefix%/} # nothing is left of /
target=${DESTDIR:-}$prefix

# A ROS 2 without rosbag2 has got rosbag2_interfaces from us, and the installed program needs it too. With wheels it is
# in .ros/<distro> beside the rest of ROS 2, and stays there.
overlay=$PWD/.ros/overlay-$ROS_DISTRO
interfaces=
if [[ :$AMENT_PREFIX_PATH: == *:"$overlay":* ]]; then
  interfaces=$overlay
fi
# In the prefix of a ROS 2 the setup files are that ROS 2's own.
setup=ON
if [ -d "$target/share/ros_workspace" ]; then
  setup=OFF
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! CMAKE_PREFIX_PATH=${AMENT_PREFIX_PATH//:/;} cmake -S . -B "$work" -DCMAKE_INSTALL_PREFIX="${prefix:-/}" \
  -DPython3_EXECUTABLE="$(command -v "$PYTHON")" -DINTERFACES="$interfaces" -DPREFIX_SETUP="$setup" >"$work/log" 2>&1 ||
  ! cmake --install "$work" >>"$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "make install: can't install to $target, see above" >&2
  exit 1
fi
{
  while IFS= read -r file || [ -n "$file" ]; do
    file=${file#"$prefix"}
    printf '%s\n' "${file#"${file%%[!/]*}"}" # without the slashes that it begins with
  done <"$work/install_manifest.txt"
  echo share/rosbagd/installed.txt
} | sort -u >"$work/installed.txt"
install -m 644 "$work/installed.txt" "$target/share/rosbagd/installed.txt"
echo "installed to ${target:-/}; to use it: source '$prefix/local_setup.bash'"
