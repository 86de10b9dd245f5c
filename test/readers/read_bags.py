"""read_bags.py DIR...: what independent packages find in bag directories, one JSON object a line and directory.

rosbags: what the rosbags library finds. topics by name: type, count, hash, definition, offered QoS profiles; messages:
         topic, time and payload (base64) in the order of its reader; decoded: messages by topic that it could decode.
files:   by file what the mcap library (.mcap) or Python's sqlite3 (.db3) finds, with publish times where there are any;
         decoded: messages by topic that mcap-ros2-support could decode.
Compression is undone here, by the zstandard library. Both libraries that decode refuse types like pkg/srv/T_Event, whatever
their definition says: they are given it under the name of a message.
"""

import base64
import dataclasses
import io
import json
import os
import sqlite3
import sys
import tempfile

import yaml
import zstandard
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def text(data):
    return base64.b64encode(data).decode()


def time(value):
    return value.sec * 1_000_000_000 + value.nsec


def offers(profiles):
    return [
        {
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
        for profile in profiles
    ]


def as_message(name):
    package, _, base = name.split("/")
    return f"{package}/msg/{base.replace('_Event', 'Happening')}"


def typestore(connections):
    """Registers each definition under its own name, so that one that can not be parsed costs itself only."""
    store = get_typestore(Stores.EMPTY)
    failed = {}
    for connection in connections:
        try:
            types = get_types_from_msg(connection.msgdef.data, as_message(connection.msgtype))
            store.register({name: fields for name, fields in types.items() if name not in store.types})
        except Exception as error:
            failed[connection.topic] = f"{type(error).__name__}: {error}"
    return store, failed


def by_rosbags(directory):
    with Reader(directory) as reader:
        store, failed = typestore(reader.connections)
        found = {
            "mode": reader.compression_mode or "",
            "distro": reader.storage.metadata.ros_distro,
            "custom": reader.storage.metadata.custom,
            "count": reader.message_count,
            "start": reader.start_time,
            "end": reader.end_time,
            "topics": {
                connection.topic: {
                    "type": connection.msgtype,
                    "count": connection.msgcount,
                    "hash": connection.digest,
                    "encoding": connection.msgdef.format.name,
                    "definition": connection.msgdef.data,
                    "qos": offers(connection.ext.offered_qos_profiles),
                }
                for connection in reader.connections
            },
            "messages": [],
            "decoded": {},
        }
        for connection, stamp, data in reader.messages():
            found["messages"].append({"topic": connection.topic, "log": stamp, "data": text(data)})
            if connection.topic in failed:
                continue
            try:
                store.deserialize_cdr(data, as_message(connection.msgtype))
                found["decoded"][connection.topic] = found["decoded"].get(connection.topic, 0) + 1
            except Exception as error:
                failed[connection.topic] = f"{type(error).__name__}: {error}"
        return found | {"failed": failed}


def by_mcap(stream, unpack):
    reader = make_reader(stream, validate_crcs=True)
    factory = DecoderFactory()
    found = {"messages": [], "topics": {}, "decoded": {}, "failed": {}, "profile": reader.get_header().profile}
    summary = reader.get_summary()
    found["indexed"] = summary is not None and bool(summary.chunk_indexes) and summary.statistics is not None
    for channel in summary.channels.values():
        schema = summary.schemas[channel.schema_id]
        found["topics"][channel.topic] = {
            "type": schema.name,
            "encoding": schema.encoding,
            "definition": schema.data.decode(),
            "metadata": channel.metadata,
            "count": summary.statistics.channel_message_counts.get(channel.id, 0),
        }
    found["attachments"] = [attachment.name for attachment in reader.iter_attachments()]
    found["metadata"] = [record.metadata.get("serialized_metadata", "") for record in reader.iter_metadata() if record.name == "rosbag2"]
    for schema, channel, message in reader.iter_messages(log_time_order=True):
        data = unpack(message.data)
        found["messages"].append(
            {
                "topic": channel.topic,
                "log": message.log_time,
                "publish": message.publish_time,
                "sequence": message.sequence,
                "data": text(data),
            }
        )
        try:
            known = dataclasses.replace(schema, name=as_message(schema.name))
            decoder = factory.decoder_for(channel.message_encoding, known)
            if decoder is None:
                raise ValueError(f"no decoder for a schema of encoding {schema.encoding!r}")
            decoder(data)
            found["decoded"][channel.topic] = found["decoded"].get(channel.topic, 0) + 1
        except Exception as error:
            found["failed"][channel.topic] = f"{type(error).__name__}: {error}"
    return found


def by_sqlite3(path, unpack):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        if connection.execute("pragma integrity_check").fetchone() != ("ok",):
            raise ValueError(f"{path} is damaged")
        (version, distro) = connection.execute("select schema_version, ros_distro from schema").fetchone()
        definitions = {
            row[0]: {"encoding": row[1], "definition": row[2], "hash": row[3]}
            for row in connection.execute(
                "select topic_type, encoding, encoded_message_definition, type_description_hash from message_definitions"
            )
        }
        return {
            "schema": version,
            "distro": distro,
            "topics": {
                row[0]: {"type": row[1], "format": row[2], "qos": row[3], "hash": row[4], "count": row[5]}
                | {key: definitions.get(row[1], {}).get(key, "") for key in ("encoding", "definition")}
                for row in connection.execute(
                    "select name, type, serialization_format, offered_qos_profiles, type_description_hash,"
                    " (select count(*) from messages where topic_id = topics.id) from topics"
                )
            },
            "messages": [
                {"topic": row[0], "log": row[1], "data": text(unpack(row[2]))}
                for row in connection.execute(
                    "select topics.name, timestamp, data from messages join topics on topics.id = topic_id"
                    " order by timestamp, messages.id"
                )
            ],
            "metadata": [row[0] for row in connection.execute("select metadata from metadata order by id")],
        }
    finally:
        connection.close()


def by_file(directory):
    with open(os.path.join(directory, "metadata.yaml"), encoding="utf-8") as stream:
        information = yaml.safe_load(stream)["rosbag2_bagfile_information"]
    mode = information.get("compression_mode", "").upper()
    unpack = zstandard.ZstdDecompressor().decompress if mode == "MESSAGE" else bytes
    found = []
    for name in information["relative_file_paths"]:
        with open(os.path.join(directory, name), "rb") as stream:
            content = stream.read()
        if mode == "FILE":
            content = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)).read()
        if information["storage_identifier"] == "mcap":
            found.append(by_mcap(io.BytesIO(content), unpack))
            continue
        with tempfile.NamedTemporaryFile(suffix=".db3") as unpacked:
            unpacked.write(content)
            unpacked.flush()
            found.append(by_sqlite3(unpacked.name, unpack))
    return found


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps({"rosbags": by_rosbags(path), "files": by_file(path)}), flush=True)
