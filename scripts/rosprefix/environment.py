"""The settings with which Go, C and Python find a ROS 2."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path


def include_directories(prefixes: list[Path]) -> list[Path]:
    """Where headers are: <prefix>/include/<package>, and include itself for packages that keep to the old layout."""
    found = []
    for prefix in prefixes:
        include = prefix / "include"
        if include.is_dir():
            found += sorted(d for d in include.iterdir() if d.is_dir() and not d.name.startswith("python"))
            found.append(include)
    return found


def lacks_timer_init(prefixes: list[Path]) -> bool:
    """Whether rcl_timer_init, which rclgo calls, is gone from this ROS 2 (from Kilted on)."""
    for directory in include_directories(prefixes):
        header = directory / "rcl" / "timer.h"
        if header.exists():
            return not re.search(r"\brcl_timer_init\s*\(", header.read_text(errors="replace"))
    return False


def write_timer_header(directory: Path) -> None:
    """Puts a header into directory that gives rcl_timer_init back; directory must come first in the search path."""
    header = directory / "rcl" / "timer.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("""\
// Gives back rcl_timer_init, which became rcl_timer_init2: rclgo still calls it.
#ifndef ROSBAGD_COMPAT_RCL_TIMER_H_
#define ROSBAGD_COMPAT_RCL_TIMER_H_

#include_next <rcl/timer.h>

static inline rcl_ret_t rcl_timer_init(
  rcl_timer_t * timer, rcl_clock_t * clock, rcl_context_t * context, int64_t period,
  const rcl_timer_callback_t callback, rcl_allocator_t allocator)
{
  return rcl_timer_init2(timer, clock, context, period, callback, allocator, true);
}

#endif  // ROSBAGD_COMPAT_RCL_TIMER_H_
""")


def settings(distro: str, prefixes: list[Path], compat: Path | None, python: Path, linked: list[str],
             base: Mapping[str, str]) -> dict[str, str]:
    """The variables for a build against prefixes.

    compat is a directory of headers that come first. linked names libraries
    that every program is to bring along. base is the environment that the
    settings are laid over.
    """
    include = ([compat] if compat else []) + include_directories(prefixes)
    libraries = [p / "lib" for p in prefixes]
    # A variable of this name replaces cgo's own default, which is -g -O2. rclgo calls what newer rcl deprecates.
    cflags = ["-g", "-O2", "-Wno-deprecated-declarations", *(f"-I{d}" for d in include)]
    # rpath-link: libraries of a sourced ROS 2 find each other through LD_LIBRARY_PATH, the linker does not look there.
    ldflags = ["-g", "-O2", *(f"-L{d}" for d in libraries), *(f"-Wl,-rpath,{d}" for d in libraries),
               *(f"-Wl,-rpath-link,{d}" for d in libraries)]
    if linked:
        ldflags += ["-Wl,--no-as-needed", *(f"-l{name}" for name in linked), "-Wl,--as-needed"]
    return {
        "ROS_DISTRO": distro,
        "AMENT_PREFIX_PATH": os.pathsep.join(map(str, prefixes)),
        "CGO_ENABLED": "1",
        "CGO_CFLAGS": " ".join(map(_quoted, cflags)),
        "CGO_LDFLAGS": " ".join(map(_quoted, ldflags)),
        "PYTHON": str(python),
    } | {k: base[k] for k in ("LD_LIBRARY_PATH", "PYTHONPATH") if k in base}


def as_shell(variables: Mapping[str, str]) -> str:
    return "".join(f"export {k}={shlex.quote(v)}\n" for k, v in variables.items())


def _quoted(flag: str) -> str:
    """flag in the form that cgo splits at spaces and no further."""
    return f"'{flag}'" if re.search(r"\s", flag) else flag
