"""read_mcap.py messages|numbers FILE...: what the mcap library finds in files, in file order.

messages: one JSON line a message: topic, type, schema_encoding, schema, encoding, metadata, log, publish, data (base64).
numbers:  one JSON object: per topic the count, the first and the last of the numbers that the messages begin with
          (16 hexadecimal digits), how many are missing between, how many came twice or late, the last log time.
counts:   one JSON object: messages by topic.
A file whose end is missing is read as far as it goes.
"""

import base64
import json
import sys

from mcap.exceptions import EndOfFile
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader

DIGITS = slice(8, 24)


def messages(path):
    schemas, channels = {}, {}
    with open(path, "rb") as stream:
        records = StreamReader(stream).records
        while True:
            try:
                record = next(records)
            except (StopIteration, EndOfFile):
                return
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                yield channel, schemas.get(channel.schema_id), record


def print_messages(paths):
    for path in paths:
        for channel, schema, message in messages(path):
            print(
                json.dumps(
                    {
                        "topic": channel.topic,
                        "type": schema.name,
                        "schema_encoding": schema.encoding,
                        "schema": schema.data.decode(),
                        "encoding": channel.message_encoding,
                        "metadata": channel.metadata,
                        "log": message.log_time,
                        "publish": message.publish_time,
                        "data": base64.b64encode(message.data).decode(),
                    }
                )
            )


def print_numbers(paths):
    found = {}
    for path in paths:
        for channel, _, message in messages(path):
            number = int(message.data[DIGITS], 16)
            topic = found.setdefault(
                channel.topic, {"count": 0, "first": number, "last": number - 1, "missing": 0, "again": 0}
            )
            topic["count"] += 1
            if number <= topic["last"]:
                topic["again"] += 1
                continue
            topic["missing"] += number - topic["last"] - 1
            topic["last"] = number
            topic["log"] = message.log_time
    print(json.dumps(found))


def print_counts(paths):
    found = {}
    for path in paths:
        for channel, _, _ in messages(path):
            found[channel.topic] = found.get(channel.topic, 0) + 1
    print(json.dumps(found))


if __name__ == "__main__":
    {"messages": print_messages, "numbers": print_numbers, "counts": print_counts}[sys.argv[1]](sys.argv[2:])
