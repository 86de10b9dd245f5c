"""Runs one step of .ci/run, counts it, and ends every process that it leaves behind."""

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict

PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", required=True, help="file to append '<passed> <failed>' to")
    parser.add_argument("--go", action="store_true", help="the command prints go test's JSON: count its tests")
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    # Orphans of this step become our children, so that they can be found.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"== {options.name}", flush=True)
    start = time.monotonic()
    child = subprocess.Popen(options.command, stdin=subprocess.DEVNULL, text=True, errors="replace",
                             stdout=subprocess.PIPE if options.go else None)
    if options.go:
        passed, failed = count(child.stdout)
        if child.wait() != 0 and failed == 0:
            failed = 1
        if passed + failed == 0:
            print("no test ran")
            failed = 1
    else:
        passed, failed = (1, 0) if child.wait() == 0 else (0, 1)
    for line in end_orphans():
        print(f"left running: {line}")
        failed += 1
    print(f"== {options.name}: {passed} passed, {failed} failed, {time.monotonic() - start:.0f} s", flush=True)
    with open(options.counts, "a") as f:
        f.write(f"{passed} {failed}\n")
    return 1 if failed else 0


def count(lines) -> tuple[int, int]:
    """Prints one line a package and the output of what fails; returns the numbers of passed and failed tests."""
    output = defaultdict(list)
    passed, failed = set(), set()
    packages_failed = 0
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            print(line, end="", flush=True)
            continue
        package, test, action = event.get("Package", event.get("ImportPath", "")), event.get("Test"), event["Action"]
        if action in ("output", "build-output"):
            output[package, test].append(event["Output"])
        elif action in ("pass", "fail") and test:
            (passed if action == "pass" else failed).add((package, test))
            if action == "fail":
                print("".join(output[package, test]), end="")
            output.pop((package, test), None)
        elif action in ("pass", "fail", "skip", "build-fail"):
            if action == "build-fail":
                print("".join(output.pop((package, None), [])), end="")
                continue
            print(f"{action:5} {package} {event.get('Elapsed', 0):.1f} s", flush=True)
            if action == "fail" and not any(p == package for p, _ in failed):
                # A crash, a timeout or a build that failed: no test of the package says so.
                packages_failed += 1
                for (p, _), text in list(output.items()):
                    if p == package:
                        print("".join(text[-200:]), end="")
            for key in [k for k in output if k[0] == package]:
                del output[key]
    # A test with subtests is its subtests.
    parents = {(p, t.rsplit("/", 1)[0]) for p, t in passed | failed if "/" in t}
    broken_parents = {f for f in failed & parents if not any(t.startswith(f[1] + "/") for p, t in failed if p == f[0])}
    return len(passed - parents), len((failed - parents) | broken_parents) + packages_failed


def end_orphans() -> list[str]:
    """Ends the descendants that are still there and returns their command lines."""
    deadline = time.monotonic() + 5  # some are about to end by themselves
    while children() and time.monotonic() < deadline:
        reap()
        time.sleep(0.1)
    found = []
    while left := children():
        for pid, name in left:
            found.append(name)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)
        reap()
    return found


def children() -> list[tuple[int, str]]:
    """Our living children, adopted ones included; what they leave behind comes to us when they end."""
    found = []
    with open(f"/proc/self/task/{os.getpid()}/children") as f:
        pids = f.read().split()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            with open(f"/proc/{pid}/cmdline") as f:
                name = f.read().replace("\0", " ").strip()
        except OSError:
            continue
        if state != "Z":
            found.append((int(pid), name or pid))
    return found


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    sys.exit(main())
