"""station.py FILE [--deaf] [--ask]: publishes messages of peer_msgs, a package that the program under test does not have.

/station and /reading are latched, /known is of an installed type. Each message is noted in FILE as a JSON line: topic and
data (base64). "sent" is printed when all were sent, "acknowledged" when a subscription of each topic has them all.
--deaf: never answers what other nodes ask, the definition of its types among it.
--ask: offers the service /ask with introspection, and calls it when somebody subscribes to its events.
Ends with its standard input.
"""

import base64
import json
import sys
import threading
import time

import rclpy
from peer_msgs.msg import Reading, Station
from peer_msgs.srv import Ask
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_system_default
from rclpy.serialization import serialize_message
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

COUNT = 20
PERIOD = 0.02
PATIENCE = 60  # seconds to wait for subscriptions
LATCHED = QoSProfile(depth=COUNT, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def reading(index):
    return Reading(quality=Reading.BAD, value=index / 3, comment=f"reading {index}")


def station(index):
    message = Station(best=reading(index), title=f"Stätion {index}", raw=bytes(range(index)))
    message.header.frame_id = f"mast_{index}"
    message.readings = [reading(i) for i in range(index % 5)]
    message.last = message.readings[:3]
    return message


def answer(request, response):
    response.known = True
    response.answers = [request.hint, reading(len(request.question))]
    return response


def wait(done, what):
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            sys.exit(f"not within {PATIENCE} s: {what}")
        time.sleep(PERIOD)


def spin(executor):
    try:
        executor.spin()
    except ExternalShutdownException:
        pass


def main():
    path, flags = sys.argv[1], sys.argv[2:]
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("station", namespace="/far")
    service = client = None
    if "--ask" in flags:
        service = node.create_service(Ask, "/ask", answer)
        service.configure_introspection(node.get_clock(), qos_profile_system_default, ServiceIntrospectionState.CONTENTS)
        client = node.create_client(Ask, "/ask")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    thread = threading.Thread(target=spin, args=(executor,), daemon=True)
    if "--deaf" not in flags:
        thread.start()
    publishers = {}
    with open(path, "w") as notes:
        for topic, kind, make in (
            ("/station", Station, station),
            ("/reading", Reading, reading),
            ("/known", String, lambda index: String(data=f"known {index}")),
        ):
            publishers[topic] = node.create_publisher(kind, topic, LATCHED)
            for index in range(COUNT):
                data = serialize_message(make(index))
                data += bytes(-len(data) % 4)
                publishers[topic].publish(data)
                notes.write(json.dumps({"topic": topic, "data": base64.b64encode(data).decode()}) + "\n")
    print("sent", flush=True)
    for topic, publisher in publishers.items():
        wait(publisher.get_subscription_count, f"a subscription of {topic}")
        if not publisher.wait_for_all_acked(Duration(seconds=PATIENCE)):
            sys.exit(f"{topic} was not acknowledged")
    if client:
        wait(lambda: node.count_subscribers("/ask/_service_event"), "a subscription of the events")
        client.wait_for_service()
        for index in range(COUNT):
            future = client.call_async(Ask.Request(question="?" * index, hint=reading(index)))
            wait(future.done, "an answer")
    print("acknowledged", flush=True)
    sys.stdin.read()
    executor.shutdown(timeout_sec=1)
    rclpy.try_shutdown()
    if thread.is_alive():
        thread.join(timeout=5)


if __name__ == "__main__":
    main()
