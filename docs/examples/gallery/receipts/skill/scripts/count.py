"""Print how many things the receipt on standard input lists: `3 x bread` are three."""

import re
import sys


def pieces(line):
    """Return how many things a line lists; a line without a price lists none."""
    if re.search(r"\d[.,]\d\d$", line) is None or "returned" in line:
        return 0
    times = re.match(r"(\d+) x ", line)
    return int(times[1]) if times else 1


print(sum(pieces(line) for line in sys.stdin.read().splitlines()))
