#!/usr/bin/env python3
"""Compiles the C code of node/ against the C interface of Humble and Lyrical.

Neither has packages that could be installed here. But the Rust client library
ships what bindgen, a compiler front end, read from the real headers of each
distro. This turns it back into C declarations and lets gcc check our calls and
members against them, as strictly as `make lint-c` does against real headers;
and cgo what the Go code of node/ and rclgo take from C.

That is a check of declarations: nothing is linked, and nothing runs. To know
that the way back to C is right, the declarations of the distros that are here
(.ros/jazzy, .ros/kilted) are held against their real headers.

A distro that is installed in /opt/ros is checked with its real headers instead.
One line a distro says what was done; the exit code is 1 if the code does not
fit one of them, or if nothing could be checked.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the scripts leave nothing beside themselves
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from distros import compare, record  # noqa: E402
from distros.compiler import Compiler  # noqa: E402
from distros.translate import Declarations  # noqa: E402
from rosprefix.environment import compat_headers, include_directories  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("humble", "lyrical")
HERE = ("jazzy", "kilted")


def main() -> int:
    work = ROOT / ".ros" / "build" / "distros"
    compiler = Compiler(ROOT, work)
    results = []
    recorded: Path | None = None
    why = ""
    try:
        recorded = record.fetch(work)
    except record.Unavailable as e:
        why = str(e)
    for distro in TARGETS:
        installed = Path("/opt/ros", distro)
        if (installed / "include").is_dir():
            compat = compat_headers([installed])
            include = [*([compat] if compat else []), *include_directories([installed])]
            results.append(report(distro, "its installed headers", compiler.everything(include)))
        elif recorded:
            include = compiler.headers(distro, Declarations(record.declarations(recorded, distro)))
            results.append(report(distro, "declarations that bindgen took from its headers", compiler.everything(include)))
        else:
            print(f"{distro}: not checked: {why}")
    for distro in HERE:
        prefix = ROOT / ".ros" / distro
        if recorded and (prefix / ".stamp").exists():
            found = compare.with_headers(compiler, distro, Declarations(record.declarations(recorded, distro)),
                                         include_directories([prefix]))
            results.append(report(distro, "its real headers agree with what bindgen took from them", found))
    return 0 if results and all(results) else 1


def report(distro: str, how: str, complaints: str) -> bool:
    print(f"{distro}: {'FAILED' if complaints else 'ok'}: {how}")
    if complaints:
        print(complaints)
        print("(what bindgen does not write down is stated in scripts/distros/stated.h)")
    return not complaints


if __name__ == "__main__":
    sys.exit(main())
