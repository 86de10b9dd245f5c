"""demo_drive.py BAG: drives a paused player of BAG by its services and shows what each call does. Ends with code 1 when
something is not as it should be."""

import sys
import time
from collections import Counter

import rclpy
import yaml
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosbag2_interfaces.srv import Burst, GetRate, IsPaused, Pause, PlayNext, Resume, Seek, SetRate
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, Imu
from std_msgs.msg import String

PLAYER = "/rosbag2_player/"
PATIENCE = 10.0  # seconds for anything to happen
SECOND = 1_000_000_000


class Driver:
    def __init__(self, bag):
        with open(f"{bag}/metadata.yaml", encoding="utf-8") as stream:
            information = yaml.safe_load(stream)["rosbag2_bagfile_information"]
        self.start = information["starting_time"]["nanoseconds_since_epoch"]
        self.duration = information["duration"]["nanoseconds"]
        self.counts = {
            one["topic_metadata"]["name"]: one["message_count"] for one in information["topics_with_message_count"]
        }
        self.node = rclpy.create_node("driver", enable_rosout=False)
        self.heard, self.lines, self.clock, self.failures = Counter(), [], None, 0
        self.since = 0
        many = QoSProfile(depth=1000)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        clock = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        for topic, kind, qos in (
            ("/chatter", String, many),
            ("/imu", Imu, many),
            ("/camera", Image, many),
            ("/map_name", String, latched),
        ):
            self.node.create_subscription(kind, topic, self.counter(topic), qos, raw=True)
        self.node.create_subscription(Clock, "/clock", self.on_clock, clock)

    def counter(self, topic):
        def count(data, info):
            if info["source_timestamp"] < self.since:
                return  # it was on its way when we began to count anew
            self.heard[topic] += 1
            if topic == "/chatter":
                self.lines.append(deserialize_message(data, String).data)

        return count

    def count_anew(self):
        self.since = time.time_ns()
        self.heard.clear()
        self.lines.clear()

    def on_clock(self, message):
        self.clock = message.clock.sec * SECOND + message.clock.nanosec

    def until(self, done, patience=PATIENCE):
        end = time.monotonic() + patience
        while not done() and time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.02)
        return done()

    def wait(self, seconds):
        self.until(lambda: False, seconds)

    def call(self, kind, name, **request):
        client = self.node.create_client(kind, PLAYER + name)
        try:
            if not client.wait_for_service(timeout_sec=PATIENCE):
                sys.exit(f"   the player does not offer {PLAYER}{name}")
            future = client.call_async(kind.Request(**request))
            if not self.until(future.done):
                sys.exit(f"   the player does not answer {PLAYER}{name}")
            return future.result()
        finally:
            self.node.destroy_client(client)

    def position(self):
        return "no /clock yet" if self.clock is None else f"{(self.clock - self.start) / SECOND:.3f} s into the bag"

    def expect(self, right, what):
        print(f"   {'ok ' if right else 'NOT'} {what}")
        self.failures += not right

    def fresh_clock(self):
        """Waits for two /clock messages that come after this call."""
        for _ in range(2):
            self.clock = None
            self.until(lambda: self.clock is not None)
        return self.clock

    def steps(self):
        print("\n1. The player has started paused: nothing moves until we say so.")
        self.until(lambda: self.node.count_publishers("/camera") and self.node.count_publishers("/chatter"))
        self.wait(0.5)
        self.expect(self.call(IsPaused, "is_paused").paused, "is_paused answers true")
        self.expect(self.call(GetRate, "get_rate").rate == 2.0, "get_rate answers 2.0, as -r 2 asked for")
        self.expect(self.fresh_clock() == self.start, f"/clock stands at the start of the bag ({self.position()})")
        self.expect(not self.lines, "nothing was received on /chatter")

        print("\n2. play_next publishes exactly one message, three times.")
        heard, before = self.heard.copy(), self.heard.total()
        answers = [self.call(PlayNext, "play_next").success for _ in range(3)]
        self.until(lambda: self.heard.total() >= before + 3)
        self.expect(all(answers) and self.heard.total() == before + 3, f"3 more messages were received: {self.show(heard)}")

        print("\n3. burst publishes 10 messages as fast as it can.")
        heard, before = self.heard.copy(), self.heard.total()
        burst = self.call(Burst, "burst", num_messages=10).actually_burst
        self.until(lambda: self.heard.total() >= before + 10)
        self.expect(burst == 10, f"burst answers {burst}")
        self.expect(self.heard.total() == before + 10, f"10 more messages were received: {self.show(heard)}")
        self.expect(self.start < self.fresh_clock() < self.start + self.duration, f"/clock is {self.position()}")

        print("\n4. seek goes to the middle of the bag and stays paused.")
        middle = self.start + self.duration // 2
        self.expect(self.seek(middle), "seek answers true")
        self.expect(self.fresh_clock() == middle, f"/clock is {self.position()}")
        self.expect(self.call(IsPaused, "is_paused").paused, "is_paused still answers true")

        print("\n5. set_rate refuses a rate of 0, and takes 1.")
        self.expect(not self.call(SetRate, "set_rate", rate=0.0).success, "set_rate 0 answers false")
        self.expect(self.call(SetRate, "set_rate", rate=1.0).success, "set_rate 1 answers true")

        print("\n6. resume plays, pause stops again.")
        lines = len(self.lines)
        self.call(Resume, "resume")
        self.expect(self.until(lambda: len(self.lines) >= lines + 5), f"/chatter goes on: {self.lines[lines:lines + 5]}")
        self.call(Pause, "pause")
        stood = self.fresh_clock()
        self.expect(stood > middle, f"/clock ran on to {self.position()}")
        self.expect(self.fresh_clock() == stood, "/clock stands still")

        print("\n7. seek back to the start, faster, and resume to the end: the whole bag is played.")
        self.expect(self.seek(self.start), "seek answers true")
        self.call(SetRate, "set_rate", rate=2.0)
        self.count_anew()
        self.call(Resume, "resume")
        wanted = Counter({topic: self.counts[topic] for topic in ("/chatter", "/imu", "/camera")})
        self.until(lambda: wanted <= self.heard, PATIENCE + self.duration / SECOND)
        self.wait(0.2)
        for topic, count in wanted.items():
            self.expect(self.heard[topic] == count, f"{topic}: {self.heard[topic]} of {count} messages")
        numbers = [int(line.split()[1]) for line in self.lines]
        self.expect(numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False, "/chatter in order")
        print("\nThe end of the bag is the end of the player.")

    def seek(self, nanos):
        request = Seek.Request()
        request.time.sec, request.time.nanosec = nanos // SECOND, nanos % SECOND
        return self.call(Seek, "seek", time=request.time).success

    def show(self, before):
        return ", ".join(f"{topic} {count}" for topic, count in sorted((self.heard - before).items()))


def main():
    rclpy.init()
    driver = Driver(sys.argv[1])
    driver.steps()
    rclpy.try_shutdown()
    sys.exit(1 if driver.failures else 0)


if __name__ == "__main__":
    main()
