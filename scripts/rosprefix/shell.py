"""Running other programs with their output in a log, and saying how it goes."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path


class SetupError(Exception):
    """One sentence for the user: what is wrong and what to do."""


class Log:
    """Runs programs and keeps what they print in a file; a person sees only short lines."""

    def __init__(self, path: Path, held: int):
        """held is the descriptor of the lock, which every program started here holds as well."""
        self.path = path
        self._held = held
        path.write_text("")

    def run(self, argv: list, failure: str, env: Mapping[str, str] | None = None) -> None:
        """Runs argv; if it fails, raises SetupError with the sentence failure."""
        code, _ = self.attempt(argv, env)
        if code != 0:
            raise SetupError(f"{failure}; details are in {shown(self.path)}")

    def attempt(self, argv: list, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Runs argv and returns its exit code and output."""
        argv = [str(a) for a in argv]
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", pass_fds=[self._held])
        with self.path.open("a") as f:
            f.write(f"$ {' '.join(argv)}\n{done.stdout}\n[exit {done.returncode}]\n")
        return done.returncode, done.stdout


@contextmanager
def step(what: str):
    """Announces a step and, when it is done, says how long it took."""
    say(f"{what} ...")
    start = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - start:.1f} s")


def say(line: str) -> None:
    print(f"ros: {line}", file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    """path as a person at this place would write it."""
    return os.path.relpath(path)
