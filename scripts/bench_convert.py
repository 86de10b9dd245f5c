#!/usr/bin/env python3
"""bench_convert.py [ROSBAGD]: measures `rosbagd convert` beside the Python packages mcap and rosbags.

Every round converts the same bag with each of them, one after the other, start of the process included, so that a machine
that gets slower in between is slower for all. The first round is not counted, the middle of the others is shown.
BENCH_MESSAGES (500000) of BENCH_BYTES (100) on ten topics, BENCH_PAIRS (3) rounds. Bags lie on /dev/shm, or below
BENCH_DIRECTORY. Needs mcap and rosbags (scripts/requirements-test.txt).
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcap.writer import CompressionType, Writer

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "500000"))
BYTES = int(os.environ.get("BENCH_BYTES", "100"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "3"))
START = 1_700_000_000_000_000_000

# The loop that the documentation of mcap shows.
MCAP_LOOP = """
import sys
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as target:
    writer = Writer(target, compression=CompressionType.NONE)
    writer.start(profile="ros2", library="")
    ids = {}
    for schema, channel, message in make_reader(source).iter_messages():
        if channel.id not in ids:
            known = writer.register_schema(name=schema.name, encoding=schema.encoding, data=schema.data)
            ids[channel.id] = writer.register_channel(
                topic=channel.topic, message_encoding=channel.message_encoding, schema_id=known, metadata=channel.metadata)
        writer.add_message(channel_id=ids[channel.id], log_time=message.log_time, publish_time=message.publish_time,
                           sequence=message.sequence, data=message.data)
    writer.finish()
"""


def make_file(path):
    """Writes a file whose messages are String of the size asked for."""
    text = b"x" * (BYTES - 9)
    payload = b"\0\1\0\0" + (len(text) + 1).to_bytes(4, "little") + text + b"\0"
    with open(path, "wb") as stream:
        writer = Writer(stream, compression=CompressionType.NONE)
        writer.start(profile="ros2", library="bench")
        schema = writer.register_schema(name="std_msgs/msg/String", encoding="ros2msg", data=b"string data\n")
        channels = [
            writer.register_channel(topic=f"/topic_{i}", message_encoding="cdr", schema_id=schema,
                                    metadata={"offered_qos_profiles": "", "topic_type_hash": ""})
            for i in range(10)
        ]
        for i in range(MESSAGES):
            at = START + i * 100_000
            writer.add_message(channel_id=channels[i % 10], log_time=at, publish_time=at, data=payload, sequence=i)
        writer.finish()


def main():
    rosbagd = Path(sys.argv[1] if len(sys.argv) > 1 else "bin/rosbagd").resolve()
    place = os.environ.get("BENCH_DIRECTORY", "/dev/shm")
    with tempfile.TemporaryDirectory(dir=place) as directory:
        directory = Path(directory)
        made, bag, out = directory / "made.mcap", directory / "bag", directory / "out"
        make_file(made)
        # A bag with metadata.yaml, which rosbags needs.
        subprocess.run([rosbagd, "convert", made, "-o", bag], check=True, stdout=subprocess.DEVNULL)
        file = bag / "bag_0.mcap"
        rosbags = "from rosbags.convert.cli import main; main()"
        calls = [
            ("rosbagd convert, chunks copied", [rosbagd, "convert", bag, "-o", out]),
            ("rosbagd convert, messages", [rosbagd, "convert", bag, "-o", out, "--storage-preset-profile", "none"]),
            ("rosbagd convert to sqlite3", [rosbagd, "convert", bag, "-o", out, "-s", "sqlite3"]),
            ("mcap (Python), messages", [sys.executable, "-c", MCAP_LOOP, file, directory / "out.mcap"]),
            ("rosbags-convert to sqlite3",
             [sys.executable, "-c", rosbags, "--src", bag, "--dst", out, "--dst-storage", "sqlite3"]),
        ]
        took = {name: [] for name, _ in calls}
        for _ in range(PAIRS + 1):
            for name, call in calls:
                began = time.monotonic()
                subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
                took[name].append(time.monotonic() - began)
                shutil.rmtree(out, ignore_errors=True)
    print(f"| {MESSAGES:,} messages of {BYTES} B, MCAP | seconds | million messages/s |\n|---|---|---|")
    for name, seconds in took.items():
        middle = statistics.median(seconds[1:])
        print(f"| {name} | {middle:.2f} | {MESSAGES / middle / 1e6:.2f} |")


if __name__ == "__main__":
    main()
