"""demo_publish.py: what a small robot might say, until a signal comes: a line of text at 10 Hz, an IMU at 200 Hz, a picture of
1 MB at 10 Hz, and a map that is said once and kept for whoever comes later."""

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image, Imu
from std_msgs.msg import String

WIDTH, HEIGHT = 640, 521  # times three bytes: 1 MB


def main():
    rclpy.init()
    node = rclpy.create_node("robot", enable_rosout=False)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "/map_name", latched).publish(String(data="ground floor"))

    chatter = node.create_publisher(String, "/chatter", 10)
    imu = node.create_publisher(Imu, "/imu", 100)
    camera = node.create_publisher(Image, "/camera", 10)
    picture = Image(width=WIDTH, height=HEIGHT, encoding="rgb8", step=3 * WIDTH, data=bytes(3 * WIDTH * HEIGHT))
    sample = Imu()
    said = 0

    def say():
        nonlocal said
        chatter.publish(String(data=f"hello {said}"))
        said += 1

    def move():
        sample.header.stamp = node.get_clock().now().to_msg()
        imu.publish(sample)

    def look():
        picture.header.stamp = node.get_clock().now().to_msg()
        camera.publish(picture)

    node.create_timer(1 / 10, say)
    node.create_timer(1 / 200, move)
    node.create_timer(1 / 10, look)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
