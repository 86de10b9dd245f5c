"""latched.py TOPIC COUNT: COUNT publishers of one topic, each with one latched message, "latched 0" and so on.

Prints "latched" when all are sent, and stays in the graph until its standard input ends.
"""

import sys

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String


def main():
    topic, count = sys.argv[1], int(sys.argv[2])
    rclpy.init()
    node = rclpy.create_node("latched", enable_rosout=False, start_parameter_services=False)
    one = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publishers = [node.create_publisher(String, topic, one) for _ in range(count)]
    for index, publisher in enumerate(publishers):
        publisher.publish(String(data=f"latched {index}"))
    print("latched", flush=True)
    sys.stdin.read()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
