"""Decides whether a directory still is what a set-up has left there.

A stamp is a JSON file with the key of everything that went in, and the size of
each file that came out. It is written last, so a set-up that was killed has
none, and a file that is missing or cut short no longer matches.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path


def key(*parts: object) -> str:
    """A digest of parts; a Path stands for the file's content or for every file below it."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            for file in sorted(part.rglob("*")) if part.is_dir() else [part]:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(f"\0{file.relative_to(part)}\0".encode() + file.read_bytes())
        else:
            digest.update(f"\0{part}".encode())
    return digest.hexdigest()


def sizes(root: Path, skip: Iterable[Path] = ()) -> dict[str, int]:
    """The size of every file below root, by relative path; compiled Python, which comes and goes, is left out."""
    skipped = {str(s) for s in skip}
    found: dict[str, int] = {}

    def walk(folder: str, relative: str) -> None:
        for entry in os.scandir(folder):
            if entry.name == "__pycache__" or entry.path in skipped:
                continue
            name = relative + entry.name
            if entry.is_dir(follow_symlinks=False):
                walk(entry.path, name + "/")
            else:
                found[name] = entry.stat(follow_symlinks=False).st_size

    walk(str(root), "")
    return found


def write(stamp: Path, stamp_key: str, files: dict[str, int]) -> None:
    half = stamp.with_name(stamp.name + ".tmp")
    half.write_text(json.dumps({"key": stamp_key, "files": files}))
    half.replace(stamp)


def files_of(stamp: Path) -> dict[str, int]:
    """What stamp lists; nothing if there is no readable stamp."""
    return _read(stamp).get("files", {})


def valid(stamp: Path, stamp_key: str, root: Path) -> bool:
    """Whether stamp was made for stamp_key and every file that it lists is there in full size."""
    content = _read(stamp)
    if content.get("key") != stamp_key:
        return False
    base = str(root) + "/"
    try:
        return all(os.lstat(base + name).st_size == size for name, size in content["files"].items())
    except (OSError, KeyError):
        return False


def _read(stamp: Path) -> dict:
    try:
        content = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
