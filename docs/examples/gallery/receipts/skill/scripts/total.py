"""Print the total of the receipt on standard input: an item per line, its price at the end."""

import re
import sys


def amount(line):
    """Return what a line adds to the total."""
    found = re.search(r"(\d+\.\d\d)$", line)
    if found is None:
        return 0.0
    price = float(found[1])
    return round(price, 2)


total = sum(amount(line) for line in sys.stdin.read().splitlines())
print(f"{total:.2f}")
