"""read_sqlite3.py FILE: what Python's sqlite3 finds in a database, as read_mcap.py's `numbers` prints it. The file may have
been left by a killed process: its copy is read, so that nothing is written beside it.
"""

import json
import os
import shutil
import sqlite3
import sys
import tempfile


def main():
    path, found = sys.argv[1], {}
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "copy.db3")
        for suffix in ("", "-wal"):
            if os.path.exists(path + suffix):
                shutil.copy(path + suffix, copy + suffix)
        rows = sqlite3.connect(copy).execute(
            "select topics.name, timestamp, data from messages join topics on topics.id = topic_id order by messages.id"
        )
        for topic, stamp, data in rows:
            number = int(data[8:24], 16)
            entry = found.setdefault(
                topic, {"count": 0, "first": number, "last": number - 1, "missing": 0, "again": 0}
            )
            entry["count"] += 1
            if number <= entry["last"]:
                entry["again"] += 1
                continue
            entry["missing"] += number - entry["last"] - 1
            entry["last"] = number
            entry["log"] = stamp
    print(json.dumps(found))


if __name__ == "__main__":
    main()
