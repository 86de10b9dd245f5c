"""The settings with which Go, C and Python find a ROS 2."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path


def include_directories(prefixes: list[Path]) -> list[Path]:
    """Where headers are: <prefix>/include/<package>, and include itself.

    The first is where ROS packages have them, below once more the name of the
    package. Other directories keep to include itself, and some hold files that
    would hide those of the C library.
    """
    found = []
    for prefix in prefixes:
        include = prefix / "include"
        if include.is_dir():
            found += sorted(d for d in include.iterdir() if (d / d.name).is_dir())
            found.append(include)
    return found


def library_directories(prefixes: list[Path]) -> list[Path]:
    """lib, and lib/<architecture> where Debian's packages of some ROS packages have their libraries."""
    return [d for p in prefixes for d in (p / "lib", *sorted((p / "lib").glob("*-linux-gnu*")))]


# Headers that come before those of ROS, for what its newer versions took away.
COMPAT = Path(__file__).resolve().parent / "compat"


def compat_headers(prefixes: list[Path]) -> Path | None:
    """COMPAT where rcl_timer_init, which rclgo calls, is gone from this ROS 2 (from Kilted on)."""
    for directory in include_directories(prefixes):
        header = directory / "rcl" / "timer.h"
        if header.exists():
            there = re.search(r"\brcl_timer_init\s*\(", header.read_text(errors="replace"))
            return None if there else COMPAT
    return None


def settings(distro: str, prefixes: list[Path], python: Path, linked: list[str],
             base: Mapping[str, str]) -> dict[str, str]:
    """The variables for a build against prefixes.

    linked names libraries that every program is to bring along. base is the
    environment that the settings are laid over.
    """
    compat = compat_headers(prefixes)
    include = ([compat] if compat else []) + include_directories(prefixes)
    libraries = library_directories(prefixes)
    # A variable of this name replaces cgo's own default, which is -g -O2. rclgo calls what newer rcl deprecates.
    cflags = ["-g", "-O2", "-Wno-deprecated-declarations", *(f"-I{d}" for d in include)]
    # rpath-link: libraries of a sourced ROS 2 find each other through LD_LIBRARY_PATH, the linker does not look there.
    # The first run path is that of an installed program, whose interface package may be beside it.
    ldflags = ["-g", "-O2", *(f"-L{d}" for d in libraries), "-Wl,-rpath,$ORIGIN/../lib", *(f"-Wl,-rpath,{d}" for d in libraries),
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
