"""A ROS 2 prefix from Python wheels: one directory that serves C, Go, CMake and rclpy.

The wheels hold the real packages, but were packed for Python alone. What is
repaired here, after installation:

- auditwheel moved foreign libraries into site-packages/*.libs and left run
  paths that point nowhere: all are linked into lib/, with run paths to match.
- The C libraries NEED the message packages' Python libraries, whose symbols
  only a Python process has: those entries go, or no C or Go program loads.
- Symbolic links became copies, so a library could be loaded twice.
- CMake files name the Python of the machine where they were built.
- librmw_implementation.so doesn't exist (the middleware is linked straight
  in), but programs written for ROS 2 link to it: a linker script stands in.
"""

import filecmp
import os
import re
import shutil
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path

from .shell import Log, SetupError, shown

PIP_OPTIONS = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-binary", "empy",
               "--no-build-isolation", "--no-input", "--disable-pip-version-check", "--retries", "3")


def install(prefix: Path, locks: list[Path], log: Log) -> None:
    """Makes prefix anew from the packages in locks."""
    make_venv(prefix, log)
    # empy comes as source only and is built with the setuptools pinned here.
    pip(prefix, [line for lock in locks for line in requirements(lock) if line.startswith("setuptools==")], log)
    pip(prefix, [line for lock in locks for line in requirements(lock)], log)


def make_venv(folder: Path, log: Log, *options: str, python: Path | None = None) -> None:
    """Makes folder a new venv of python, or of the Python that runs this, not of a venv that this may run in."""
    if folder.exists():
        shutil.rmtree(folder)
    base = python if python and python != Path(sys.executable) else getattr(sys, "_base_executable", sys.executable)
    log.run([base, "-m", "venv", *options, folder], "can't make a Python venv (on Debian and Ubuntu install python3-venv)")


def requirements(lock: Path) -> list[str]:
    return [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]


def pip(venv: Path, wanted: list[str], log: Log) -> None:
    """Installs the requirement lines into venv; a damaged download is fetched once more."""
    code, output = _pip(venv, wanted, log)
    damaged = re.search(r"^\s+(\S+?)(?:==\S+)? from .*\n\s+Expected sha256", output, re.MULTILINE)
    if code != 0 and damaged:
        name = damaged.group(1).lower()
        again = [line for line in wanted if line.lower().startswith(name + "==")]
        code, output = _pip(venv, again, log, "--no-cache-dir")
        if code == 0:
            code, output = _pip(venv, wanted, log)
    if code == 0:
        return
    where = f"details are in {shown(log.path)}"
    if "DO NOT MATCH THE HASHES" in output:
        name = damaged.group(1) if damaged else "a package"
        raise SetupError(f"the download of {name} was damaged twice (its hash is not the pinned one); {where}")
    if re.search(r"name resolution|NewConnectionError|Network is unreachable|ConnectTimeout|ProxyError|No matching distribution", output):
        raise SetupError(f"can't download the ROS 2 packages, the Python package index isn't reached or lacks one; {where}")
    raise SetupError(f"pip can't install the ROS 2 packages; {where}")


def _pip(venv: Path, wanted: list[str], log: Log, *options: str) -> tuple[int, str]:
    listing = venv / "wanted.txt"
    listing.write_text("\n".join(wanted) + "\n")
    try:
        return log.attempt([venv / "bin/python", "-m", "pip", "install", *PIP_OPTIONS, *options, "-r", listing],
                           env=clean_environment(venv))
    finally:
        listing.unlink()


def clean_environment(venv: Path) -> dict[str, str]:
    """The environment without another Python's or ROS 2's settings, venv's programs first."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PYTHON", "AMENT_", "CMAKE_", "COLCON_", "ROS_")) and k not in ("LD_LIBRARY_PATH", "DESTDIR")}
    env["PATH"] = f"{venv}/bin:{env.get('PATH', os.defpath)}"
    return env


def repair(prefix: Path, log: Log) -> None:
    """Makes the freshly installed prefix usable for C, CMake and Go."""
    lib, site = prefix / "lib", site_packages(prefix)
    _link_bundled(lib, site)
    _restore_links(lib)
    _patch_libraries(prefix, lib, site, log)
    _patch_cmake(prefix, site)
    (lib / "librmw_implementation.so").write_text("INPUT(-lrmw_fastrtps_cpp)\n")


def site_packages(prefix: Path) -> Path:
    return prefix / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _link_bundled(lib: Path, site: Path) -> None:
    # Names carry a hash of the content, so the same name is the same library.
    for bundled in sorted(site.glob("ros_*.libs/*.so*")):
        link = lib / bundled.name
        if not os.path.lexists(link):
            link.symlink_to(os.path.relpath(bundled, lib))


def _restore_links(lib: Path) -> None:
    # The full version has the longest name: libX.so.1.2.3 before libX.so.1 and libX.so.
    groups = defaultdict(list)
    for file in lib.glob("lib*.so*"):
        if not file.is_symlink():
            groups[file.name.split(".so")[0]].append(file)
    for files in groups.values():
        full, *copies = sorted(files, key=lambda f: len(f.name), reverse=True)
        for copy in copies:
            if filecmp.cmp(full, copy, shallow=False):
                copy.unlink()
                copy.symlink_to(full.name)


def _patch_libraries(prefix: Path, lib: Path, site: Path, log: Log) -> None:
    ours = [f for f in sorted(lib.glob("*.so*")) if not f.is_symlink()]
    python_only = [f.name for f in ours if f.name.endswith("__rosidl_generator_py.so")]
    drop = [option for name in python_only for option in ("--remove-needed", name)]
    by_run_path = defaultdict(list)
    for file in ours:
        by_run_path["$ORIGIN", file.name in python_only].append(file)
    for file in site.glob("ros_*.libs/*.so*"):
        by_run_path["$ORIGIN:$ORIGIN/../../..", True].append(file)
    for file in site.rglob("*.so"):
        package = site / file.relative_to(site).parts[0]
        if (prefix / "share" / package.name / "package.xml").exists():
            by_run_path["$ORIGIN/" + os.path.relpath(lib, file.parent), True].append(file)
    for (run_path, keep_needed), files in by_run_path.items():
        log.run([prefix / "bin/patchelf", "--set-rpath", run_path, *([] if keep_needed else drop), *files],
                "patchelf can't repair the ROS 2 libraries")


def _patch_cmake(prefix: Path, site: Path) -> None:
    include = sysconfig.get_path("include")
    for file in prefix.glob("share/*/cmake/*.cmake"):
        old = file.read_text()
        new = re.sub(r"/opt/python/[^;\"]*/site-packages/numpy/_core/include", f"{site}/numpy/_core/include", old)
        new = re.sub(r"/opt/python/[^;\"]*/include/python3\.\d+", include, new)
        if new != old:
            file.write_text(new)
