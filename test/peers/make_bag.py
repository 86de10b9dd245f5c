"""make_bag.py DIR COUNT PERIOD_MS START_NS: writes a bag with exact time stamps: std_msgs/String "0", "1", ... on /count.

Only the mcap library writes it, so that a test of the player does not stand on the recorder.
"""

import os
import struct
import sys

import yaml
from mcap.writer import CompressionType, Writer

INFINITE = {"sec": 9223372036, "nsec": 854775807}
OFFER = {
    "history": "unknown",
    "depth": 0,
    "reliability": "reliable",
    "durability": "volatile",
    "deadline": INFINITE,
    "lifespan": INFINITE,
    "liveliness": "automatic",
    "liveliness_lease_duration": INFINITE,
    "avoid_ros_namespace_conventions": False,
}


class Dumper(yaml.SafeDumper):
    """Writes what is used twice twice, as rosbag2 does."""

    def ignore_aliases(self, _):
        return True


def main():
    directory, count, period, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) * 1_000_000, int(sys.argv[4])
    os.makedirs(directory)
    name = os.path.basename(directory) + "_0.mcap"
    with open(os.path.join(directory, name), "wb") as stream:
        writer = Writer(stream, compression=CompressionType.NONE)
        writer.start(profile="ros2", library="make_bag")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        offers = yaml.dump([OFFER], Dumper=Dumper)
        channel = writer.register_channel("/count", "cdr", schema, {"offered_qos_profiles": offers})
        for index in range(count):
            text = str(index).encode() + b"\0"
            stamp = start + index * period
            writer.add_message(channel, stamp, b"\0\1\0\0" + struct.pack("<I", len(text)) + text, stamp, index)
        writer.finish()
    span = {"starting_time": {"nanoseconds_since_epoch": start}, "duration": {"nanoseconds": (count - 1) * period}}
    topic = {
        "name": "/count",
        "type": "std_msgs/msg/String",
        "serialization_format": "cdr",
        "offered_qos_profiles": [OFFER],
        "type_description_hash": "",
    }
    information = {
        "version": 9,
        "storage_identifier": "mcap",
        **span,
        "message_count": count,
        "topics_with_message_count": [{"topic_metadata": topic, "message_count": count}],
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [name],
        "files": [{"path": name, **span, "message_count": count}],
        "custom_data": None,
        "ros_distro": "jazzy",
    }
    with open(os.path.join(directory, "metadata.yaml"), "w", encoding="utf-8") as stream:
        yaml.dump({"rosbag2_bagfile_information": information}, stream, Dumper=Dumper, sort_keys=False)


if __name__ == "__main__":
    main()
