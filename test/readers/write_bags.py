"""write_bags.py DIR: lets the rosbags and mcap libraries write bags below DIR in all ways that they know. Prints one JSON
object a line and bag: name, and what is in it: topics, messages in the order of their times, attachments, records, which of
it can be expected without metadata.yaml.
"""

import base64
import itertools
import json
import os
import struct
import sys

from mcap.writer import CompressionType, IndexType, Writer as McapWriter
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

START, STEP, TRANSPORT, COUNT = 1_700_000_000_000_000_000, 10_000_000, 100_000, 120
INFINITE = QosTime(9223372036, 854775807)
OFFERS = [
    Qos(
        QosHistory.KEEP_LAST,
        7,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        QosTime(1, 500_000_000),
        INFINITE,
        QosLiveliness.MANUAL_BY_TOPIC,
        QosTime(2, 1),
        False,
    ),
    Qos(
        QosHistory.UNKNOWN,
        0,
        QosReliability.BEST_EFFORT,
        QosDurability.VOLATILE,
        INFINITE,
        INFINITE,
        QosLiveliness.AUTOMATIC,
        INFINITE,
        True,
    ),
]
TOPICS = {
    "/words": ("std_msgs/msg/String", OFFERS[:1]),
    "/empty": ("std_msgs/msg/Empty", OFFERS[1:]),
    "/pose": ("geometry_msgs/msg/PoseStamped", OFFERS),
    "/never": ("std_msgs/msg/String", []),
}


def shown(profile):
    def time(value):
        return value.sec * 1_000_000_000 + value.nsec

    return {
        "history": profile.history.name.lower(),
        "depth": profile.depth,
        "reliability": profile.reliability.name.lower(),
        "durability": profile.durability.name.lower(),
        "deadline": time(profile.deadline),
        "lifespan": time(profile.lifespan),
        "liveliness": profile.liveliness.name.lower(),
        "lease": time(profile.liveliness_lease_duration),
        "avoid": profile.avoid_ros_namespace_conventions,
    }


def payload(topic, index):
    if topic == "/words":
        words = f"{index} ".encode() * (1 + index % 7) + b"\0"
        return b"\0\1\0\0" + struct.pack("<I", len(words)) + words
    if topic == "/empty":
        return b"\0\1\0\0\0"
    frame = b"map\0"
    return b"\0\1\0\0" + struct.pack("<iII", index, index * 7, len(frame)) + frame + struct.pack("<7d", *range(index, index + 7))


def messages():
    """Topics in turn; two of three times go up, so that files are not in order."""
    for index in range(COUNT):
        topic = ("/words", "/empty", "/pose")[index % 3]
        stamp = START + (index + (4 if index % 3 == 1 else 0)) * STEP
        yield topic, stamp, payload(topic, index)


def describe(name, store, hashes, offers, publish, sequence, **more):
    """What is in a bag, with messages in the order of time."""
    listed = [
        {
            "topic": topic,
            "log": stamp,
            "publish": stamp - (TRANSPORT if publish else 0),
            "sequence": index if sequence else 0,
            "data": base64.b64encode(data).decode(),
        }
        for index, (topic, stamp, data) in enumerate(messages())
    ]
    listed.sort(key=lambda message: message["log"])
    counts = {topic: sum(m["topic"] == topic for m in listed) for topic in TOPICS}
    topics = {
        topic: {
            "type": kind,
            "count": counts[topic],
            "hash": store.hash_rihs01(kind) if hashes else "",
            "definition": store.generate_msgdef(kind, ros_version=2)[0],
            "qos": [shown(profile) for profile in profiles] if offers else [],
        }
        for topic, (kind, profiles) in TOPICS.items()
    }
    print(json.dumps({"name": name, "topics": topics, "messages": listed} | more))


def by_rosbags(directory, store):
    modes = {plugin: [CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE] for plugin in StoragePlugin}
    modes[StoragePlugin.MCAP].append(CompressionMode.STORAGE)
    for version, plugin in itertools.product((8, 9), StoragePlugin):
        for mode in modes[plugin]:
            name = f"rosbags_{plugin.name}_{mode.name}_{version}".lower()
            writer = Writer(os.path.join(directory, name), version=version, storage_plugin=plugin)
            writer.set_compression(mode, CompressionFormat.ZSTD)
            writer.set_custom_data("robot", "7")
            with writer:
                connections = {
                    topic: writer.add_connection(topic, kind, typestore=store, offered_qos_profiles=profiles)
                    for topic, (kind, profiles) in TOPICS.items()
                }
                for topic, stamp, data in messages():
                    writer.write(connections[topic], stamp, data)
            describe(name, store, True, True, False, False, custom={"robot": "7"}, distro="rosbags", mode=mode.name.lower(), version=version)


def by_mcap(directory, store):
    indexes = [IndexType.ALL, IndexType.NONE, IndexType.CHUNK, IndexType.MESSAGE, IndexType.CHUNK | IndexType.MESSAGE]
    layouts = [
        dict(use_chunking=chunks, compression=compression, index_types=kinds, chunk_size=1024, use_statistics=plain,
             repeat_channels=plain, repeat_schemas=plain, use_summary_offsets=plain, enable_crcs=plain, enable_data_crcs=plain)
        for chunks, compression, kinds, plain in itertools.product((True, False), CompressionType, indexes, (True, False))
        if chunks or compression == CompressionType.NONE
    ]
    for number, layout in enumerate(layouts):
        name = f"mcap_{number}"
        os.makedirs(os.path.join(directory, name))
        with open(os.path.join(directory, name, "any name.mcap"), "wb") as stream:
            writer = McapWriter(stream, **layout)
            writer.start(profile="ros2", library="write_bags")
            channels = {}
            for topic, (kind, _) in TOPICS.items():
                schema = writer.register_schema(kind, "ros2msg", store.generate_msgdef(kind, ros_version=2)[0].encode())
                channels[topic] = writer.register_channel(topic, "cdr", schema)
            for index, (topic, stamp, data) in enumerate(messages()):
                writer.add_message(channels[topic], stamp, data, stamp - TRANSPORT, index)
                if index == COUNT // 2:
                    writer.add_attachment(START, START + 1, "calibration.txt", "text/plain", b"k: 1\n" * 100)
                    writer.add_metadata("site", {"hall": "3"})
            writer.finish()
        # Where channels are not repeated and a topic has no message, only the summary's absence tells of it.
        how = " ".join(f"{key}={value}" for key, value in layout.items())
        describe(name, store, False, False, True, True, attachments=["calibration.txt"], records={"site": {"hall": "3"}}, how=how)


def main():
    store = get_typestore(Stores.ROS2_JAZZY)
    by_rosbags(sys.argv[1], store)
    by_mcap(sys.argv[1], store)


if __name__ == "__main__":
    main()
