"""A ROS node that does what it is told: one JSON command a line on standard input, one JSON answer a line on standard output.

Commands, by "op":
  call        service, type, request {}, timeout      the response as a dictionary
  services    node                                    what it offers, type by name
  node        name, timeout                           waits until the node is in the graph
  subscribe   topic, type, durability, reliability, depth
                                                      takes serialized messages from now on
  matched     topics, timeout                         waits until somebody publishes each of these topics
  await       topic, count, timeout                   waits until so many messages were taken since the last await or
                                                      clear, hands them over and forgets them
  clear       topic                                   forgets what was taken, hands it over
  advertise   topic, type, durability, reliability, depth
  publish     topic, data (base64), subscriptions, timeout
                                                      sends serialized bytes, after so many subscriptions are there
  acked       topic, timeout                          waits until somebody subscribes to what we advertised and all have
                                                      acknowledged what was sent
  alone       topic, timeout                          waits until nobody subscribes to what we advertised
  offers      topic                                   the node names of the publishers of a topic
  endpoints   topic, of ("publishers" or "subscriptions"), node, count, timeout
                                                      waits until a node has so many, and shows the QoS of each, times in ns
  hashes      topic                                   the type hashes that the publishers of a topic announce
Values that JSON has no word for are written as text: "nan", "inf". An answer is {"ok": ...} or {"error": text}.
"""

import base64
import importlib
import json
import sys
import threading
import time

import rclpy
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

POLL = 0.01  # seconds between two looks at the graph
SETTLE = 0.5  # seconds that the other side gets to know of a match that this side sees already


def interface(name):
    package, kind, base = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), base)


def fill(message, values):
    for name, value in values.items():
        old = getattr(message, name)
        if isinstance(value, dict):
            fill(old, value)
        else:
            setattr(message, name, float(value) if isinstance(old, float) else value)
    return message


def plain(message):
    if hasattr(message, "get_fields_and_field_types"):
        return {name: plain(getattr(message, name)) for name in message.get_fields_and_field_types()}
    return [plain(one) for one in message] if isinstance(message, (list, tuple)) else message


def profile(command):
    return QoSProfile(
        depth=command.get("depth", 1000),
        durability=DurabilityPolicy[command.get("durability", "volatile").upper()],
        reliability=ReliabilityPolicy[command.get("reliability", "reliable").upper()],
    )


def quality(qos):
    found = {policy: getattr(qos, policy).name.lower() for policy in ("reliability", "durability", "liveliness")}
    for time_policy in ("deadline", "lifespan", "liveliness_lease_duration"):
        found[time_policy] = getattr(qos, time_policy).nanoseconds
    return found


class Control:
    def __init__(self):
        self.node = rclpy.create_node("control", enable_rosout=False, start_parameter_services=False)
        self.clients, self.publishers, self.subscriptions = {}, {}, {}
        self.taken = {}
        self.news = threading.Condition()
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.spin, daemon=True)
        self.thread.start()

    def spin(self):
        try:
            self.executor.spin()
        except ExternalShutdownException:
            pass

    def until(self, done, timeout, what):
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {timeout} s")
            time.sleep(POLL)

    def op_call(self, command):
        name, kind, timeout = command["service"], interface(command["type"]), command.get("timeout", 10)
        if name not in self.clients:
            self.clients[name] = self.node.create_client(kind, name)
        if not self.clients[name].wait_for_service(timeout_sec=timeout):
            raise TimeoutError(f"service {name} did not come within {timeout} s")
        future = self.clients[name].call_async(fill(kind.Request(), command.get("request") or {}))
        answered = threading.Event()
        future.add_done_callback(lambda _: answered.set())
        if not answered.wait(timeout):
            raise TimeoutError(f"service {name} did not answer within {timeout} s")
        return plain(future.result())

    def op_node(self, command):
        space, _, base = command["name"].rpartition("/")
        wanted = (base, space or "/")
        self.until(lambda: wanted in self.node.get_node_names_and_namespaces(), command.get("timeout", 10), command["name"])

    def op_services(self, command):
        space, _, base = command["node"].rpartition("/")
        return {name: types[0] for name, types in self.node.get_service_names_and_types_by_node(base, space or "/")}

    def op_subscribe(self, command):
        topic = command["topic"]
        self.taken[topic] = []

        def take(data, info):
            with self.news:
                self.taken[topic].append(
                    {
                        "data": base64.b64encode(data).decode(),
                        "source": info["source_timestamp"],
                        "received": info["received_timestamp"],
                    }
                )
                self.news.notify_all()

        old = self.subscriptions.pop(topic, None)
        if old:
            self.node.destroy_subscription(old)
        self.subscriptions[topic] = self.node.create_subscription(
            interface(command["type"]), topic, take, profile(command), raw=True
        )

    def op_matched(self, command):
        for topic in command["topics"]:
            self.until(lambda: self.node.count_publishers(topic) > 0, command.get("timeout", 10), f"publisher of {topic}")
        time.sleep(SETTLE)

    def op_await(self, command):
        topic, count, timeout = command["topic"], command["count"], command.get("timeout", 10)
        with self.news:
            if not self.news.wait_for(lambda: len(self.taken[topic]) >= count, timeout):
                last = [base64.b64decode(one["data"])[4:40] for one in self.taken[topic][-5:]]
                raise TimeoutError(
                    f"{topic}: {len(self.taken[topic])} of {count} messages within {timeout} s, the last ones {last}"
                )
            found, self.taken[topic] = self.taken[topic], []
        return found

    def op_clear(self, command):
        with self.news:
            found, self.taken[command["topic"]] = self.taken[command["topic"]], []
        return found

    def op_advertise(self, command):
        topic = command["topic"]
        self.publishers[topic] = self.node.create_publisher(interface(command["type"]), topic, profile(command))

    def op_publish(self, command):
        publisher = self.publishers[command["topic"]]
        wanted = command.get("subscriptions", 0)
        self.until(
            lambda: publisher.get_subscription_count() >= wanted,
            command.get("timeout", 10),
            f"{command['topic']}: {wanted} subscriptions",
        )
        publisher.publish(base64.b64decode(command["data"]))

    def op_acked(self, command):
        publisher, timeout = self.publishers[command["topic"]], command.get("timeout", 10)
        self.until(lambda: publisher.get_subscription_count() > 0, timeout, f"{command['topic']}: no subscription")
        if not publisher.wait_for_all_acked(Duration(seconds=timeout)):
            raise TimeoutError(f"{command['topic']}: not acknowledged within {timeout} s")

    def op_alone(self, command):
        publisher = self.publishers[command["topic"]]
        self.until(
            lambda: publisher.get_subscription_count() == 0, command.get("timeout", 10), f"{command['topic']}: no subscription"
        )

    def op_offers(self, command):
        return [end.node_name for end in self.node.get_publishers_info_by_topic(command["topic"])]

    def op_endpoints(self, command):
        topic, node, count = command["topic"], command["node"], command["count"]
        find = getattr(self.node, f"get_{command['of']}_info_by_topic")

        def there():
            return [one for one in find(topic) if one.node_name == node]

        self.until(lambda: len(there()) == count, command.get("timeout", 10), f"{topic}: {count} {command['of']} of {node}")
        return [quality(one.qos_profile) for one in there()]

    def op_hashes(self, command):
        hashes = [end.topic_type_hash for end in self.node.get_publishers_info_by_topic(command["topic"])]
        return [f"RIHS{one.version:02}_{bytes(one.value).hex()}" for one in hashes]


def main(kind=Control):
    # Signals of the terminal end the whole test; this peer ends when its input does.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    control = kind()
    print(json.dumps({"ok": "ready"}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": getattr(control, "op_" + command["op"])(command)}
        except Exception as error:  # whatever it is, the test wants to read it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    rclpy.try_shutdown()
    control.thread.join(timeout=5)


if __name__ == "__main__":
    main()
