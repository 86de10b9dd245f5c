"""Removes the shared memory that ROS processes have left; fails if other files are left.

Killing processes is part of the tests, and a process that is killed can't
remove its segments. Files that were there before, or that a living process
uses, are not touched.
"""

import os
import sys
from pathlib import Path

SHM = Path("/dev/shm")


def in_use() -> set[str]:
    names = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text(errors="replace").splitlines()
            links = [os.readlink(fd) for fd in (process / "fd").iterdir()]
        except OSError:
            continue
        for text in [*maps, *links]:
            if "/dev/shm/" in text:
                names.add(text.split("/dev/shm/", 1)[1].removesuffix(" (deleted)"))
    return names


def main() -> int:
    before = set(Path(sys.argv[1]).read_text().splitlines())
    left = set(os.listdir(SHM)) - before - in_use()
    # lttng-ust-wait: every process with ROS's trace points makes it, and none removes it.
    ours = {name for name in left if name.removeprefix("sem.").startswith(("fastrtps_", "fastdds_", "lttng-ust-wait"))}
    for name in ours:
        (SHM / name).unlink(missing_ok=True)
    if ours:
        print(f"removed {len(ours)} files of ROS processes")
    for name in left - ours:
        print(f"left in /dev/shm: {name}")
    return 1 if left - ours else 0


if __name__ == "__main__":
    sys.exit(main())
