#!/usr/bin/env python3
"""bench.py [record] [play] [idle]: measures rosbagd beside the limit, in rounds, and prints tables for docs/benchmarks.md.

The limit of a recorder is the C loop of test/tools/load.c that takes messages and throws them away, once waiting for
each message and once draining every 5 ms. Beside them run test/tools/drain, which does the same through the data plane
of rosbagd, and the recorder itself. Every round runs the four one after the other, so that a machine that gets slower in
between is slower for all. idle is the recorder among 500 topics on which nothing comes. BENCH_SECONDS (8) is the length
of a load, BENCH_PAIRS (3) how often it is repeated; the middle value is shown. Bags lie on /dev/shm: the disk is not what
is measured.

Runs with the settings of scripts/ros_prefix.py (see `make bench`).
"""

import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from mcap.writer import CompressionType, Writer

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "bin" / "rosbagd"
SECONDS = int(os.environ.get("BENCH_SECONDS", "8"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "3"))
DOMAIN = "94"  # no test of the project uses it

# Name, topics, messages a second and topic, bytes a message.
RECORD = [
    ("100 topics x 100 Hz x 1 KB", 100, 100, 1_000),
    ("1 topic x 20 kHz x 100 B", 1, 20_000, 100),
    ("5 topics x 30 Hz x 1 MB", 5, 30, 1_000_000),
    ("500 topics x 4 Hz x 200 B", 500, 4, 200),
]
IDLE_TOPICS = 500
# Name, topics, Hz, bytes, rate.
PLAY = [
    ("1 topic x 1 kHz x 100 B, rate 1", 1, 1_000, 100, 1),
    ("100 topics x 50 Hz x 200 B, rate 1", 100, 50, 200, 1),
    ("1 topic x 30 Hz x 6 MB, rate 1", 1, 30, 6_000_000, 1),
    ("100 topics x 50 Hz x 200 B, rate 10", 100, 50, 200, 10),
    ("100 topics x 50 Hz x 200 B, rate 1000", 100, 50, 200, 1_000),
]


class Bench:
    """The processes of a benchmark and the directory they work in."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.load = self.directory / "load"
        self.plane = self.directory / "plane"
        self.environ = dict(os.environ, ROS_LOCALHOST_ONLY="1", ROS_DOMAIN_ID=DOMAIN, ROS_LOG_DIR=directory)
        compile_load(self.load)
        subprocess.run(["go", "build", "-tags", "ros", "-o", self.plane, "./test/tools/drain"], cwd=ROOT, check=True)

    def start(self, *command, ready=None):
        """Starts a process and waits for a line of it that contains ready."""
        process = subprocess.Popen(
            [str(word) for word in command], env=self.environ, cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        process.said = []
        while ready and not any(ready in line for line in process.said):
            line = process.stdout.readline()
            if not line:
                sys.exit(f"bench: {command[0]} ended: {''.join(process.said)}")
            process.said.append(line)
        return process

    def finish(self, process, interrupt=True):
        """Ends a process; gives its CPU seconds, its peak memory in MB and the last line it said."""
        if interrupt:
            process.send_signal(signal.SIGINT)
        process.said += process.stdout.readlines()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, process.said[-1] if process.said else ""


def compile_load(target):
    prefixes = os.environ["AMENT_PREFIX_PATH"].split(":")
    command = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-o", target, *(ROOT / "test/tools" / f"{name}.c" for name in ("load", "options"))]
    for prefix in prefixes:
        command += [f"-I{include}" for include in sorted(Path(prefix, "include").iterdir())]
        command += [f"-L{prefix}/lib", f"-Wl,-rpath={prefix}/lib", f"-Wl,-rpath-link={prefix}/lib"]
    libraries = ["rcl", "rmw", "rcutils", "rosidl_runtime_c", "std_msgs__rosidl_typesupport_c", "std_msgs__rosidl_generator_c"]
    subprocess.run([*command, *[f"-l{name}" for name in libraries]], check=True)


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def start_receiver(bench, kind, topics):
    if kind == "rosbagd":
        bag = bench.directory / "bag"
        shutil.rmtree(bag, ignore_errors=True)
        return bench.start(BINARY, "record", "-o", bag, "--all-topics", ready="Recording...")
    if kind == "plane":
        return bench.start(bench.plane, "--topics", topics, "--depth", 1000, ready="ready")
    poll = ["--poll", "5000"] if kind == "drain" else []
    return bench.start(bench.load, "sub", "--topics", topics, "--seconds", 3600, "--depth", 1000, *poll, ready="ready")


def record_once(bench, kind, topics, rate, size):
    """One receiver of one load: its CPU seconds, memory and what it missed."""
    receiver = start_receiver(bench, kind, topics)
    count = rate * SECONDS
    publisher = bench.start(
        bench.load, "pub", "--topics", topics, "--rate", rate, "--size", size, "--count", count, "--depth", 1000, "--wait", 1)
    _, _, said = bench.finish(publisher, interrupt=False)
    sent = json.loads(said)
    cpu, memory, last = bench.finish(receiver)
    if kind == "rosbagd":
        bag = bench.directory / "bag"
        information = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        got = sum(t["message_count"] for t in information["topics_with_message_count"]
                  if t["topic_metadata"]["name"].startswith("/load/"))
        shutil.rmtree(bag)
    else:
        got = json.loads(last)["got"]
    return {"cpu": cpu, "memory": memory, "lost": sent["sent"] - got, "took": sent["seconds"]}


def record(bench):
    kinds = ("wait", "drain", "plane", "rosbagd")
    print(f"\n| recording {SECONDS} s, {PAIRS} rounds | waiting floor, CPU s | floor drained each 5 ms, CPU s "
          "| data plane alone, CPU s | / waiting floor | / drained floor | rosbagd, CPU s | / waiting floor | / drained floor "
          "| peak memory, MB | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, topics, rate, size in RECORD:
        rounds = [{kind: record_once(bench, kind, topics, rate, size) for kind in kinds} for _ in range(PAIRS)]
        cpu = {kind: middle([r[kind] for r in rounds], "cpu") for kind in kinds}

        def ratio(kind, floor, rounds=rounds):
            return f"{statistics.median(r[kind]['cpu'] / r[floor]['cpu'] for r in rounds):.2f}"

        ours = [r["rosbagd"] for r in rounds]
        print(f"| {name} | {cpu['wait']:.2f} | {cpu['drain']:.2f} | {cpu['plane']:.2f} | {ratio('plane', 'wait')} | "
              f"{ratio('plane', 'drain')} | {cpu['rosbagd']:.2f} | {ratio('rosbagd', 'wait')} | {ratio('rosbagd', 'drain')} | "
              f"{middle(ours, 'memory'):.0f} | {sum(row['lost'] for row in ours)} |", flush=True)


def cpu_of(process):
    """The CPU seconds that a running process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_once(bench):
    """The share of a core that a recorder needs once it has subscribed all topics."""
    receiver = start_receiver(bench, "rosbagd", IDLE_TOPICS)
    # One message on each topic, and the next one in a day.
    publisher = bench.start(bench.load, "pub", "--topics", IDLE_TOPICS, "--rate", 1 / 86400 / IDLE_TOPICS, "--count", 2,
                            "--wait", 1, ready="matched")
    time.sleep(2)  # for the discovery of both sides to end
    before = cpu_of(receiver)
    time.sleep(SECONDS)
    used = cpu_of(receiver) - before
    publisher.kill()
    publisher.wait()
    _, memory, _ = bench.finish(receiver)
    return {"share": used / SECONDS * 100, "memory": memory}


def idle(bench):
    rounds = [idle_once(bench) for _ in range(PAIRS)]
    print(f"\n| {IDLE_TOPICS} idle topics, {SECONDS} s, {PAIRS} rounds | share of a core | peak memory, MB |")
    print("|---|---|---|")
    print(f"| rosbagd record --all-topics | {middle(rounds, 'share'):.2f} % | {middle(rounds, 'memory'):.0f} |", flush=True)


def make_bag(directory, topics, rate, size):
    """A bag with exact time stamps, numbered as test/tools/load.c numbers its messages."""
    start = 1_700_000_000_000_000_000
    with open(directory, "wb") as stream:
        writer = Writer(stream, compression=CompressionType.NONE, chunk_size=1 << 20)
        writer.start(profile="ros2", library="bench")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channels = [writer.register_channel(f"/load/t{i}", "cdr", schema, {}) for i in range(topics)]
        filler = b"x" * max(0, size - 25) + b"\0"
        for number in range(rate * SECONDS):
            text = b"%016x" % number + filler
            data = b"\0\1\0\0" + struct.pack("<I", len(text)) + text
            for i, channel in enumerate(channels):
                stamp = start + int((number + i / topics) * 1e9 / rate)
                writer.add_message(channel, stamp, data, stamp, number)
        writer.finish()


def play_once(bench, bag, topics, rate, speed):
    stamps = bench.directory / "stamps"
    receiver = bench.start(bench.load, "sub", "--topics", topics, "--seconds", 3600, "--depth", 5000, "--stamps", stamps, ready="ready")
    player = bench.start(BINARY, "play", bag, "-r", speed, "-d", 4, "--disable-keyboard-controls")
    cpu, memory, _ = bench.finish(player, interrupt=False)
    time.sleep(0.5)  # for the receiver to take what has arrived
    bench.finish(receiver)
    rows = [tuple(map(int, line.split())) for line in stamps.read_text().splitlines()]
    offsets = [sent / 1e9 - (number + topic / topics) / rate / speed for topic, number, sent, _ in rows]
    earliest = min(offsets)
    late = sorted((x - earliest) * 1e6 for x in offsets)
    at = lambda share: late[min(len(late) - 1, int(share * len(late)))]  # noqa: E731
    return {"p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999), "max": late[-1], "cpu": cpu, "memory": memory,
            "lost": topics * rate * SECONDS - len(rows)}


def play(bench):
    print(f"\n| playing {SECONDS} s of bag, {PAIRS} rounds | late p50 | p99 | p99.9 | max, us | CPU s | peak memory, MB | lost |")
    print("|---|---|---|---|---|---|---|---|")
    for name, topics, rate, size, speed in PLAY:
        bag = bench.directory / "bag.mcap"
        make_bag(bag, topics, rate, size)
        rounds = [play_once(bench, bag, topics, rate, speed) for _ in range(PAIRS)]
        bag.unlink()
        cells = [f"{middle(rounds, key):.0f}" for key in ("p50", "p99", "p99.9", "max")]
        if speed == 1_000:
            cells = ["-"] * 4  # everything is due at once
        print(f"| {name} | {' | '.join(cells)} | {middle(rounds, 'cpu'):.2f} | {middle(rounds, 'memory'):.0f} | "
              f"{sum(row['lost'] for row in rounds)} |", flush=True)


def main():
    wanted = sys.argv[1:] or ["record", "play", "idle"]
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rosbagd-bench-") as directory:
        bench = Bench(directory)
        if "record" in wanted:
            record(bench)
        if "play" in wanted:
            play(bench)
        if "idle" in wanted:
            idle(bench)


if __name__ == "__main__":
    main()
