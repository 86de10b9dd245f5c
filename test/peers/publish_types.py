"""publish_types.py OUT ROUNDS: publishes the traffic of traffic.py and notes every message in the JSON lines file OUT.

The latched messages go out at once, the streams when each has a subscription. Prints "latched" and "sent" (all
acknowledged, OUT complete), then stays in the graph until its standard input ends.
Each line of OUT: topic, type, hash, data (base64 of the serialized bytes that were handed over), before and after
(wall clock in ns around the call).
"""

import base64
import json
import sys
import time

import rclpy
from rclpy.duration import Duration
from rclpy.serialization import serialize_message
from traffic import LATCHED, LATCHED_COUNT, LATCHED_TOPIC, STREAMS, latched

PERIOD = 0.02  # seconds from one round to the next
PATIENCE = 30.0


def type_name(message):
    return "/".join((type(message).__module__.split(".")[0], "msg", type(message).__name__))


def main():
    out, rounds = open(sys.argv[1], "w", encoding="utf-8"), int(sys.argv[2])
    rclpy.init()
    node = rclpy.create_node("publish_types", enable_rosout=False)
    publishers = {}

    def send(topic, message):
        # The bytes are handed over as they are, so that padding between fields can be compared too. The middleware
        # fills the last word of a payload for the wire, and every receiver sees that: here it is filled already.
        data = serialize_message(message)
        data += bytes(-len(data) % 4)
        before = time.time_ns()
        publishers[topic].publish(data)
        note = {
            "topic": topic,
            "type": type_name(message),
            "data": base64.b64encode(data).decode(),
            "before": before,
            "after": time.time_ns(),
        }
        out.write(json.dumps(note) + "\n")

    publishers[LATCHED_TOPIC] = node.create_publisher(type(latched(0)), LATCHED_TOPIC, LATCHED)
    for index in range(LATCHED_COUNT):
        send(LATCHED_TOPIC, latched(index))
    for topic, (qos, make) in STREAMS.items():
        publishers[topic] = node.create_publisher(type(make(0)), topic, qos)
    print("latched", flush=True)

    end = time.monotonic() + PATIENCE
    while not all(publisher.get_subscription_count() for publisher in publishers.values()):
        if time.monotonic() > end:
            sys.exit("no subscription: " + " ".join(t for t, p in publishers.items() if not p.get_subscription_count()))
        time.sleep(PERIOD)
    for index in range(rounds):
        for topic, (_, make) in STREAMS.items():
            send(topic, make(index))
        time.sleep(PERIOD)
    for topic, publisher in publishers.items():
        if not publisher.wait_for_all_acked(Duration(seconds=10)):
            sys.exit(f"{topic} was not acknowledged")
    out.close()
    print("sent", flush=True)
    sys.stdin.read()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
