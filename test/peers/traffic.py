"""The traffic that the recording tests compare with: topics of many types, and one message of each after the other."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, Imu, PointCloud2, PointField
from std_msgs.msg import String
from test_msgs import message_fixtures

RELIABLE = QoSProfile(depth=1000)
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def imu(index):
    message = Imu()
    message.header.frame_id = f"imu_{index}"
    message.header.stamp.sec = index
    message.orientation.w = 1.0
    message.angular_velocity.z = index / 7
    message.linear_acceleration_covariance[8] = -float(index)
    return message


def cloud(index):
    points = 100 + index
    message = PointCloud2(height=1, width=points, point_step=12, row_step=12 * points, is_dense=True)
    message.header.frame_id = "lidar"
    message.fields = [PointField(name=name, offset=4 * at, datatype=7, count=1) for at, name in enumerate("xyz")]
    message.data = bytes((index + at) % 256 for at in range(12 * points))
    return message


def image(index):
    message = Image(height=48, width=64, encoding="rgb8", step=192)
    message.header.frame_id = "camera"
    message.data = bytes([index % 256]) * (48 * 192)
    return message


def fixtures(name):
    made = getattr(message_fixtures, "get_msg_" + name)()
    return lambda index: made[index % len(made)]


# Topic -> (QoS, function that makes the message of an index).
STREAMS = {
    "/e2e/imu": (BEST_EFFORT, imu),
    "/e2e/cloud": (RELIABLE, cloud),
    "/e2e/image": (RELIABLE, image),
    **{
        "/e2e/" + name: (RELIABLE, fixtures(name))
        for name in (
            "arrays",
            "basic_types",
            "bounded_plain_sequences",
            "bounded_sequences",
            "builtins",
            "defaults",
            "empty",
            "multi_nested",
            "nested",
            "strings",
            "unbounded_sequences",
            "wstrings",
        )
    },
}

LATCHED_TOPIC = "/e2e/latched"
LATCHED_COUNT = 3


def latched(index):
    return String(data=f"latched {index}")
