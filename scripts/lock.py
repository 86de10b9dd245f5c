#!/usr/bin/env python3
"""Renews the hashes in requirements-<distro>.txt.

Change a name or version in such a file (a bare `name==version` line will do)
and run this script: each line is looked up for every Python that the project
supports, and written back with the hashes of what pip would install there.
Needs the network and a recent pip; nothing is installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
HEADER = """\
# {what}, for CPython 3.10 to 3.13 on x86_64.
# Installed without dependency resolution, so each package is named here.
# Versions are edited by hand, hashes are renewed by scripts/lock.py.
"""
WHAT = {"test": "Readers of bags that the tests compare with"}


def names(path: Path) -> list[str]:
    """The `name==version` part of each line."""
    words = (line.split() for line in path.read_text().splitlines())
    return sorted({w[0] for w in words if w and "==" in w[0]}, key=str.lower)


def resolve(wanted: list[str], python: str) -> dict[str, str]:
    """Maps each of wanted to the sha256 of the file that pip picks for python."""
    with tempfile.TemporaryDirectory() as tmp:
        report = Path(tmp, "report.json")
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
             "--no-deps", "--prefer-binary", "--python-version", python, "--target", tmp,
             "--report", str(report), *wanted],
            check=True)
        items = json.loads(report.read_text())["install"]
    if len(items) != len(wanted):
        sys.exit(f"pip resolved {len(items)} of {len(wanted)} requirements for Python {python}")

    def key(name: str) -> str:
        return name.lower().replace("_", "-").replace(".", "-")

    hashes = {key(i["metadata"]["name"]): i["download_info"]["archive_info"]["hashes"]["sha256"] for i in items}
    return {w: hashes[key(w.split("==")[0])] for w in wanted}


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("requirements-*.txt")):
        wanted = names(path)
        found = [resolve(wanted, python) for python in PYTHONS]
        lines = []
        for w in wanted:
            hashes = dict.fromkeys(f[w] for f in found)  # in order, each once
            lines.append(" ".join([w, *(f"--hash=sha256:{h}" for h in hashes)]))
        name = path.stem.removeprefix("requirements-")
        what = WHAT.get(name, f"ROS 2 {name.capitalize()} and what building with it takes")
        path.write_text(HEADER.format(what=what) + "\n".join(lines) + "\n")
        print(f"{path.name}: {len(wanted)} packages")


if __name__ == "__main__":
    main()
