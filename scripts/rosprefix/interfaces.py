"""Builds the interface packages of msgs/ against a ROS 2 prefix."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from .shell import Log

# How a library finds the others of its prefix: beside it, or from inside a
# Python package, in the usual layout and in Debian's (local/lib).
RUN_PATH = "$ORIGIN;$ORIGIN/../../..;$ORIGIN/../../../../../lib"


def packages(root: Path) -> list[Path]:
    """The directories in msgs/ that are ROS packages."""
    return sorted(p.parent for p in root.glob("msgs/*/package.xml"))


def build(source: Path, work: Path, install: Path, prefixes: list[Path], python: Path, env: Mapping[str, str],
          log: Log) -> None:
    """Configures, compiles and installs the package in source."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    # DESTDIR is for what `make install` installs.
    env = dict({k: v for k, v in env.items() if k != "DESTDIR"}, AMENT_PREFIX_PATH=os.pathsep.join(map(str, prefixes)),
               CMAKE_PREFIX_PATH=os.pathsep.join(map(str, prefixes)))
    # No optimization: split events and services are rare, and it takes a third of the compiler's time.
    failure = f"can't build the interface package {source.name}"
    log.run(["cmake", "-G", "Ninja", "-S", source, "-B", work, f"-DCMAKE_INSTALL_PREFIX={install}",
             f"-DCMAKE_INSTALL_RPATH={RUN_PATH}", "-DCMAKE_BUILD_TYPE=None", "-DBUILD_TESTING=OFF", f"-DPython3_EXECUTABLE={python}"], failure, env)
    log.run(["cmake", "--build", work, "--target", "install"], failure, env)
    shutil.rmtree(work)
