"""Run commands one after another in an environment with plug-ins, and print how each ended, as JSON."""

from __future__ import annotations

import json
import sys

from typed import typed

if __name__ == "__main__":
    ended = [typed(*words) for words in json.loads(sys.stdin.read())]
    print(json.dumps([[one.exit_code, one.output] for one in ended]))
