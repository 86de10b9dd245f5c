"""read_rosbags.py DIR: what the rosbags library finds in a bag directory, as one JSON object.

topics: by name the type, the count, the offered QoS profiles as rosbags reads them; messages: topic, time and data
(base64) in the order of the reader; decoded: by topic how many messages the library could decode (wide strings it can
not, and says so in failed).
"""

import base64
import json
import sys

from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def definitions(reader):
    store = get_typestore(Stores.EMPTY)
    types, failed = {}, {}
    for connection in reader.connections:
        try:
            types.update(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        except Exception as error:
            failed[connection.topic] = f"{type(error).__name__}: {error}"
    store.register({name: fields for name, fields in types.items() if name not in store.types})
    return store, failed


def main():
    with Reader(sys.argv[1]) as reader:
        store, failed = definitions(reader)
        found = {
            "topics": {
                connection.topic: {
                    "type": connection.msgtype,
                    "count": connection.msgcount,
                    "hash": connection.digest,
                    "qos": [
                        {"reliability": offer.reliability.name.lower(), "durability": offer.durability.name.lower()}
                        for offer in connection.ext.offered_qos_profiles
                    ],
                }
                for connection in reader.connections
            },
            "count": reader.message_count,
            "start": reader.start_time,
            "end": reader.end_time,
            "messages": [],
            "decoded": {},
            "failed": failed,
        }
        for connection, time, data in reader.messages():
            found["messages"].append(
                {"topic": connection.topic, "log": time, "data": base64.b64encode(data).decode()}
            )
            if connection.topic in failed:
                continue
            try:
                store.deserialize_cdr(data, connection.msgtype)
                found["decoded"][connection.topic] = found["decoded"].get(connection.topic, 0) + 1
            except Exception as error:
                failed[connection.topic] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
