"""alias_yaml.py FILE: writes a YAML file anew, so that what occurs twice is written once with an anchor and an alias."""

import json
import sys

import yaml


def shared(value, seen):
    if isinstance(value, dict):
        value = {key: shared(one, seen) for key, one in value.items()}
    elif isinstance(value, list):
        value = [shared(one, seen) for one in value]
    else:
        return value
    return seen.setdefault(json.dumps(value), value)


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        content = shared(yaml.safe_load(stream), {})
    text = yaml.safe_dump(content, sort_keys=False)
    if "&id" not in text:
        sys.exit("nothing occurs twice")
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
