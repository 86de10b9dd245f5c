#!/bin/sh
# Records a small robot for a few seconds, shows the bag and plays it under the control of a script.
#
# ROSBAGD_BIN (bin/rosbagd) and PYTHON (the interpreter of the ROS prefix) as the Makefile sets them; KEEP=1 keeps the bag.
set -eu
cd "$(dirname "$0")/.."

ROS_DISTRO=${ROS_DISTRO:-jazzy}
ROSBAGD_BIN=${ROSBAGD_BIN:-bin/rosbagd}
PYTHON=${PYTHON:-.ros/$ROS_DISTRO/bin/python}
AMENT_PREFIX_PATH=${AMENT_PREFIX_PATH:-$PWD/.ros/$ROS_DISTRO}
SECONDS_TO_RECORD=4
[ -x "$ROSBAGD_BIN" ] || { echo "demo: $ROSBAGD_BIN is missing: run 'make build' first" >&2; exit 1; }
command -v "$PYTHON" >/dev/null || { echo "demo: $PYTHON is missing: run 'make setup' first" >&2; exit 1; }

# A domain and a place of its own: other robots and other demos are not disturbed.
work=$(mktemp -d "${TMPDIR:-/tmp}/rosbagd-demo.XXXXXX")
export ROS_DISTRO AMENT_PREFIX_PATH ROS_LOCALHOST_ONLY=1 ROS_DOMAIN_ID=$((1 + $$ % 101))
export ROS_LOG_DIR="$work/log" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
bag=$work/bag
robot='' recorder='' player=''
: >"$work/record" # looked at before the recorder has written anything

clean_up() {
  code=$?
  trap - EXIT INT TERM HUP
  for process in $player $recorder $robot; do
    kill -INT "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if [ -n "${KEEP:-}" ]; then echo "The bag is kept: $bag"; else rm -rf "$work"; fi
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# What rcl says about ROS_LOCALHOST_ONLY is left out, to keep the rest readable.
quiet() { grep -v -i localhost_only "$1" || true; }

echo "== A robot talks: /chatter 10 Hz, /imu 200 Hz, /camera 10 Hz of 1 MB, /map_name once, before anybody listens"
"$PYTHON" test/peers/demo_publish.py 2>"$work/robot" &
robot=$!

echo "== rosbagd record -o $bag /chatter /imu /camera /map_name    (for $SECONDS_TO_RECORD s)"
"$ROSBAGD_BIN" record -o "$bag" /chatter /imu /camera /map_name 2>"$work/record" &
recorder=$!
tries=0
until [ "$(grep -c 'Subscribed to topic' "$work/record")" -ge 4 ]; do
  tries=$((tries + 1))
  [ "$tries" -le 200 ] || { echo "demo: the recorder did not find the topics" >&2; cat "$work/record" "$work/robot" >&2; exit 1; }
  sleep 0.1
done
sleep "$SECONDS_TO_RECORD"
kill -INT "$recorder"
wait "$recorder" || { echo "demo: the recorder failed" >&2; cat "$work/record" >&2; exit 1; }
recorder=''
quiet "$work/record"
kill -TERM "$robot"
wait "$robot" || true
robot=''

echo
echo "== rosbagd info $bag"
"$ROSBAGD_BIN" info "$bag"

echo
echo "== rosbagd play $bag -r 2 --clock --start-paused    (driven by an rclpy script)"
"$ROSBAGD_BIN" play "$bag" -r 2 --clock --start-paused 2>"$work/play" &
player=$!
if ! "$PYTHON" test/peers/demo_drive.py "$bag" 2>"$work/drive"; then
  echo "demo: not everything was as it should be" >&2
  quiet "$work/drive" >&2
  quiet "$work/play" >&2
  exit 1
fi
wait "$player" || { echo "demo: the player failed" >&2; quiet "$work/play" >&2; exit 1; }
player=''
echo
echo "== What the player logged meanwhile"
quiet "$work/play"
echo
echo "== The demo is over, and all was as it should be. Try it yourself: $ROSBAGD_BIN record -a -o run1"
