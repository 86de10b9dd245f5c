"""read_mcap_ros2.py FILE: decodes every message of a file from the definitions in it, with mcap-ros2-support, and compares
each field with what rclpy makes of the same bytes. Prints one JSON object: by topic the equal messages, by topic the first
difference or failure.
"""

import importlib
import json
import math
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.serialization import deserialize_message


def interface(name):
    package, kind, base = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), base)


def number(value):
    # rclpy has bytes for one `byte`, the decoder an int.
    return value[0] if isinstance(value, bytes) and len(value) == 1 else value


def difference(path, here, there):
    """The path of the first field in which the decoded message differs from rclpy's, or None."""
    if hasattr(there, "get_fields_and_field_types"):
        for name in there.get_fields_and_field_types():
            found = difference(f"{path}.{name}", getattr(here, name), getattr(there, name))
            if found:
                return found
        return None
    if isinstance(there, (str, bool)):
        return None if here == there else f"{path}: {here!r} is not {there!r}"
    if hasattr(there, "__len__") and not (isinstance(there, bytes) and len(there) == 1):
        if len(here) != len(there):
            return f"{path}: {len(here)} elements are not {len(there)}"
        for at, (one, other) in enumerate(zip(here, there)):
            found = difference(f"{path}[{at}]", one, other)
            if found:
                return found
        return None
    here, there = number(here), number(there)
    if isinstance(there, float) and math.isnan(there):
        return None if math.isnan(here) else f"{path}: {here!r} is no NaN"
    # The library takes `char` for a signed byte; in ROS 2 it is unsigned.
    if isinstance(here, int) and here < 0 and here + 256 == int(there):
        return None
    return None if here == there else f"{path}: {here!r} is not {there!r}"


def main():
    equal, different = {}, {}
    factory = DecoderFactory()
    with open(sys.argv[1], "rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            if channel.topic in different:
                continue
            try:
                decoded = factory.decoder_for(channel.message_encoding, schema)(message.data)
                found = difference(channel.topic, decoded, deserialize_message(message.data, interface(schema.name)))
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            if found:
                different[channel.topic] = found
            else:
                equal[channel.topic] = equal.get(channel.topic, 0) + 1
    print(json.dumps({"equal": equal, "different": different}))


if __name__ == "__main__":
    main()
