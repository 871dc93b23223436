"""The repositories of the swebench sample: sixteen small modules, with two faults each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """Something to go wrong.

    Attributes:
        right, wrong: a text of the module, once in it, and what stands in its place.
        tests: those that tell that it is mended.
    """

    right: str
    wrong: str
    issue: str
    tests: str


@dataclass(frozen=True)
class Repository:
    """A module, and tests that it passes with and without its faults."""

    name: str
    about: str
    code: str
    tests: str
    faults: tuple[Fault, Fault]


def told(what: str, wrong: str, right: str) -> str:
    """An issue whose writer has found the line."""
    return f"{what}\n\nI think the line `{wrong}` should be `{right}`."


REPOSITORIES = (
    Repository(
        "bounds",
        "Numbers kept between bounds.",
        '''"""Numbers kept between bounds."""


def clamp(value, low, high):
    """The nearest number between low and high."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def inside(value, low, high):
    """Whether a number lies between low and high, both included."""
    return low <= value <= high
''',
        "\n\ndef test_value_is_kept():\n    assert clamp(2, 0, 3) == 2\n"
        "\n\ndef test_middle_is_inside():\n    assert inside(2, 1, 3)\n",
        (
            Fault(
                "        return high\n",
                "        return low\n",
                told("`clamp(9, 0, 3)` gives 0. It must give 3.", "return low", "return high")
                + " It is the second of the two.",
                "\n\ndef test_large_value():\n    assert clamp(9, 0, 3) == 3\n",
            ),
            Fault(
                "    return low <= value <= high\n",
                "    return low <= value < high\n",
                told(
                    "`inside(3, 1, 3)` is false, though both bounds are included.",
                    "return low <= value < high",
                    "return low <= value <= high",
                ),
                "\n\ndef test_upper_bound():\n    assert inside(3, 1, 3)\n"
                "\n\ndef test_above():\n    assert not inside(4, 1, 3)\n",
            ),
        ),
    ),
    Repository(
        "words",
        "Small work on words.",
        '''"""Small work on words."""


def title(text):
    """Each word with a capital letter."""
    return " ".join(word.capitalize() for word in text.split())


def longest(words):
    """The longest word; of equal ones, the first."""
    return max(words, key=len)
''',
        "\n\ndef test_one_word():\n    assert title('sun') == 'Sun'\n"
        "\n\ndef test_only_word():\n    assert longest(['a']) == 'a'\n",
        (
            Fault(
                '    return " ".join(word.capitalize() for word in text.split())\n',
                '    return "".join(word.capitalize() for word in text.split())\n',
                told(
                    "`title('red sun')` gives `RedSun`; the blank is lost.",
                    'return "".join(word.capitalize() for word in text.split())',
                    'return " ".join(word.capitalize() for word in text.split())',
                ),
                "\n\ndef test_two_words():\n    assert title('red  sun') == 'Red Sun'\n",
            ),
            Fault(
                "    return max(words, key=len)\n",
                "    return max(words)\n",
                told(
                    "`longest(['apple', 'pear'])` gives `pear`.",
                    "return max(words)",
                    "return max(words, key=len)",
                ),
                "\n\ndef test_longest():\n    assert longest(['apple', 'pear']) == 'apple'\n",
            ),
        ),
    ),
    Repository(
        "money",
        "Amounts in cents.",
        '''"""Amounts in cents."""


def shown(cents):
    """An amount as people write it, such as 1.05."""
    return f"{cents // 100}.{cents % 100:02d}"


def split(cents, people):
    """Shares that differ by one cent at most and add up to the amount."""
    share, rest = divmod(cents, people)
    return [share + (number < rest) for number in range(people)]
''',
        "\n\ndef test_whole():\n    assert shown(250) == '2.50'\n"
        "\n\ndef test_even_shares():\n    assert split(100, 2) == [50, 50]\n",
        (
            Fault(
                '    return f"{cents // 100}.{cents % 100:02d}"\n',
                '    return f"{cents // 100}.{cents % 100}"\n',
                told(
                    "`shown(205)` gives 2.5, which reads as two and a half.",
                    'return f"{cents // 100}.{cents % 100}"',
                    'return f"{cents // 100}.{cents % 100:02d}"',
                ),
                "\n\ndef test_few_cents():\n    assert shown(205) == '2.05'\n",
            ),
            Fault(
                "    return [share + (number < rest) for number in range(people)]\n",
                "    return [share for number in range(people)]\n",
                "`sum(split(100, 3))` is 99. One cent is lost. The shares must add up to the"
                " amount, and the first ones get the cents that are left.",
                "\n\ndef test_nothing_is_lost():\n    assert split(100, 3) == [34, 33, 33]\n",
            ),
        ),
    ),
    Repository(
        "dates",
        "The calendar, without a library.",
        '''"""The calendar, without a library."""

DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def leap(year):
    """Whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(month, year):
    """How many days a month has; January is 1."""
    return DAYS[month - 1] + (month == 2 and leap(year))
''',
        "\n\ndef test_ordinary_year():\n    assert not leap(2023)\n"
        "\n\ndef test_may():\n    assert days_in(5, 2023) == 31\n",
        (
            Fault(
                "    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n",
                "    return year % 4 == 0\n",
                told(
                    "`leap(1900)` is true, but 1900 was no leap year. 2000 was one.",
                    "return year % 4 == 0",
                    "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
                ),
                "\n\ndef test_centuries():\n    assert not leap(1900)\n    assert leap(2000)\n",
            ),
            Fault(
                "    return DAYS[month - 1] + (month == 2 and leap(year))\n",
                "    return DAYS[month - 1]\n",
                "February 2024 has 28 days according to `days_in(2, 2024)`. It had 29.",
                "\n\ndef test_february():\n    assert days_in(2, 2024) == 29\n"
                "    assert days_in(2, 2023) == 28\n",
            ),
        ),
    ),
    Repository(
        "waiting",
        "A queue of bounded length.",
        '''"""A queue of bounded length."""


class Queue:
    """First in, first out."""

    def __init__(self, size):
        self.size = size
        self.items = []

    def put(self, item):
        """Add an item; False when the queue is full."""
        if len(self.items) >= self.size:
            return False
        self.items.append(item)
        return True

    def take(self):
        """The oldest item; None when there is none."""
        return self.items.pop(0) if self.items else None
''',
        "\n\ndef test_one_item():\n    queue = Queue(2)\n    assert queue.put(1)\n"
        "    assert queue.take() == 1\n",
        (
            Fault(
                "        return self.items.pop(0) if self.items else None\n",
                "        return self.items.pop() if self.items else None\n",
                told(
                    "Items come out in the wrong order: the newest first.",
                    "return self.items.pop() if self.items else None",
                    "return self.items.pop(0) if self.items else None",
                ),
                "\n\ndef test_order():\n    queue = Queue(3)\n    queue.put(1)\n    queue.put(2)\n"
                "    assert [queue.take(), queue.take(), queue.take()] == [1, 2, None]\n",
            ),
            Fault(
                "        if len(self.items) >= self.size:\n",
                "        if len(self.items) > self.size:\n",
                told(
                    "A queue of size 2 takes three items.",
                    "if len(self.items) > self.size:",
                    "if len(self.items) >= self.size:",
                ),
                "\n\ndef test_full():\n    queue = Queue(2)\n"
                "    assert [queue.put(n) for n in range(3)] == [True, True, False]\n",
            ),
        ),
    ),
    Repository(
        "table",
        "Rows of texts.",
        '''"""Rows of texts."""


def columns(rows):
    """The columns of a table whose rows may differ in length; missing cells are empty."""
    width = max((len(row) for row in rows), default=0)
    return [[row[at] if at < len(row) else "" for row in rows] for at in range(width)]


def aligned(row, widths):
    """A row as one line, each cell padded to its width."""
    cells = [cell.ljust(width) for cell, width in zip(row, widths)]
    return " | ".join(cells).rstrip()
''',
        "\n\ndef test_square():\n    assert columns([['a', 'b'], ['c', 'd']]) == [['a', 'c'],"
        " ['b', 'd']]\n"
        "\n\ndef test_exact_width():\n    assert aligned(['ab', 'c'], [2, 1]) == 'ab | c'\n",
        (
            Fault(
                "    width = max((len(row) for row in rows), default=0)\n",
                "    width = max(len(row) for row in rows)\n",
                told(
                    "`columns([])` raises ValueError instead of giving an empty list.",
                    "width = max(len(row) for row in rows)",
                    "width = max((len(row) for row in rows), default=0)",
                ),
                "\n\ndef test_no_rows():\n    assert columns([]) == []\n",
            ),
            Fault(
                "    cells = [cell.ljust(width) for cell, width in zip(row, widths)]\n",
                "    cells = [cell.rjust(width) for cell, width in zip(row, widths)]\n",
                told(
                    "Cells are padded on the wrong side: texts should begin at the left.",
                    "cells = [cell.rjust(width) for cell, width in zip(row, widths)]",
                    "cells = [cell.ljust(width) for cell, width in zip(row, widths)]",
                ),
                "\n\ndef test_padding():\n    assert aligned(['a', 'b'], [3, 1]) == 'a   | b'\n",
            ),
        ),
    ),
    Repository(
        "tags",
        "Tags of notes.",
        '''"""Tags of notes."""


def tags(note):
    """The words of a note that begin with a hash sign, each once, in order."""
    found = []
    for word in note.split():
        tag = word.lstrip("#").lower()
        if word.startswith("#") and tag and tag not in found:
            found.append(tag)
    return found


def tagged(notes, tag):
    """The notes that bear a tag, whatever the case of its letters."""
    return [note for note in notes if tag.lower() in tags(note)]
''',
        "\n\ndef test_one_tag():\n    assert tags('buy #milk') == ['milk']\n"
        "\n\ndef test_search():\n    assert tagged(['a #b', 'c'], 'b') == ['a #b']\n",
        (
            Fault(
                '        if word.startswith("#") and tag and tag not in found:\n',
                '        if word.startswith("#") and tag not in found:\n',
                told(
                    "A lonely `#` in a note is listed as an empty tag.",
                    'if word.startswith("#") and tag not in found:',
                    'if word.startswith("#") and tag and tag not in found:',
                ),
                "\n\ndef test_lonely_sign():\n    assert tags('# one #two') == ['two']\n",
            ),
            Fault(
                "    return [note for note in notes if tag.lower() in tags(note)]\n",
                "    return [note for note in notes if tag in tags(note)]\n",
                told(
                    "Searching for `Milk` finds nothing, though notes bear `#milk`.",
                    "return [note for note in notes if tag in tags(note)]",
                    "return [note for note in notes if tag.lower() in tags(note)]",
                ),
                "\n\ndef test_case():\n    assert tagged(['a #Milk'], 'MILK') == ['a #Milk']\n",
            ),
        ),
    ),
    Repository(
        "paths",
        "Paths with slashes.",
        '''"""Paths with slashes."""


def joined(*parts):
    """Parts as one path, with one slash between them."""
    return "/".join(part.strip("/") for part in parts if part.strip("/"))


def suffix(path):
    """What follows the last dot of a name; empty for a name that only begins with one."""
    name = path.rpartition("/")[2]
    stem, dot, end = name.rpartition(".")
    return end if stem else ""
''',
        "\n\ndef test_join():\n    assert joined('a', 'b') == 'a/b'\n"
        "\n\ndef test_suffix():\n    assert suffix('a/b.txt') == 'txt'\n",
        (
            Fault(
                '    return "/".join(part.strip("/") for part in parts if part.strip("/"))\n',
                '    return "/".join(part.strip("/") for part in parts)\n',
                told(
                    "`joined('a', '', 'b')` has two slashes.",
                    'return "/".join(part.strip("/") for part in parts)',
                    'return "/".join(part.strip("/") for part in parts if part.strip("/"))',
                ),
                "\n\ndef test_empty_part():\n    assert joined('a', '', '/', 'b') == 'a/b'\n",
            ),
            Fault(
                '    return end if stem else ""\n',
                "    return end\n",
                "Names such as `.profile` and `Makefile` are said to have a suffix."
                " Both have none: `suffix` must give an empty text for them.",
                "\n\ndef test_no_suffix():\n    assert suffix('x/.profile') == ''\n"
                "    assert suffix('Makefile') == ''\n",
            ),
        ),
    ),
    Repository(
        "score",
        "Marks and means.",
        '''"""Marks and means."""


def mean(values):
    """The arithmetic mean; 0 for no values."""
    return sum(values) / len(values) if values else 0


def median(values):
    """The value in the middle; the mean of the two there, if two are."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2
''',
        "\n\ndef test_mean():\n    assert mean([1, 2, 3]) == 2\n"
        "\n\ndef test_sorted_median():\n    assert median([1, 2, 3]) == 2\n",
        (
            Fault(
                "    return sum(values) / len(values) if values else 0\n",
                "    return sum(values) / len(values)\n",
                told(
                    "`mean([])` raises ZeroDivisionError; it is documented to be 0.",
                    "return sum(values) / len(values)",
                    "return sum(values) / len(values) if values else 0",
                ),
                "\n\ndef test_no_values():\n    assert mean([]) == 0\n",
            ),
            Fault(
                "    ordered = sorted(values)\n",
                "    ordered = list(values)\n",
                told(
                    "`median([9, 1, 5])` gives 1.",
                    "ordered = list(values)",
                    "ordered = sorted(values)",
                ),
                "\n\ndef test_disorder():\n    assert median([9, 1, 5]) == 5\n"
                "    assert median([4, 1, 3, 2]) == 2.5\n",
            ),
        ),
    ),
    Repository(
        "inventory",
        "What is in store.",
        '''"""What is in store."""


class Store:
    """Counts things by name."""

    def __init__(self):
        self.counts = {}

    def add(self, name, count=1):
        """Put things in."""
        self.counts[name] = self.counts.get(name, 0) + count

    def remove(self, name, count=1):
        """Take things out; KeyError when there are too few."""
        if self.counts.get(name, 0) < count:
            raise KeyError(name)
        self.counts[name] -= count
        if not self.counts[name]:
            del self.counts[name]
''',
        "\n\ndef test_added():\n    store = Store()\n    store.add('nail', 5)\n"
        "    assert store.counts == {'nail': 5}\n",
        (
            Fault(
                "        self.counts[name] = self.counts.get(name, 0) + count\n",
                "        self.counts[name] = count\n",
                told(
                    "Adding twice forgets what was there.",
                    "self.counts[name] = count",
                    "self.counts[name] = self.counts.get(name, 0) + count",
                ),
                "\n\ndef test_added_twice():\n    store = Store()\n    store.add('nail', 5)\n"
                "    store.add('nail')\n    assert store.counts['nail'] == 6\n",
            ),
            Fault(
                "        if not self.counts[name]:\n            del self.counts[name]\n",
                "",
                "After the last nail is taken out, `nail` is still listed in `counts`, with 0."
                " A thing of which nothing is left must not be listed.",
                "\n\ndef test_nothing_left():\n    store = Store()\n    store.add('nail')\n"
                "    store.remove('nail')\n    assert store.counts == {}\n",
            ),
        ),
    ),
    Repository(
        "roman",
        "Roman numerals.",
        '''"""Roman numerals."""

SIGNS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


def number(text):
    """The number that a numeral stands for, in capitals or not."""
    values = [SIGNS[sign] for sign in text.upper()]
    total = 0
    for value, following in zip(values, [*values[1:], 0]):
        total += -value if value < following else value
    return total
''',
        "\n\ndef test_sum():\n    assert number('XVI') == 16\n",
        (
            Fault(
                "        total += -value if value < following else value\n",
                "        total += value\n",
                told(
                    "`number('IX')` gives 11.",
                    "total += value",
                    "total += -value if value < following else value",
                ),
                "\n\ndef test_difference():\n    assert number('IX') == 9\n"
                "    assert number('MCMXC') == 1990\n",
            ),
            Fault(
                "    values = [SIGNS[sign] for sign in text.upper()]\n",
                "    values = [SIGNS[sign] for sign in text]\n",
                told(
                    "`number('iv')` raises KeyError.",
                    "values = [SIGNS[sign] for sign in text]",
                    "values = [SIGNS[sign] for sign in text.upper()]",
                ),
                "\n\ndef test_small_letters():\n    assert number('iv') == 4\n",
            ),
        ),
    ),
    Repository(
        "search",
        "Finding places in sorted lists.",
        '''"""Finding places in sorted lists."""


def place(items, wanted):
    """Where an item stands in a sorted list; -1 when it is not there."""
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
''',
        "\n\ndef test_middle():\n    assert place([1, 3, 5], 3) == 1\n",
        (
            Fault(
                "    while low <= high:\n",
                "    while low < high:\n",
                told(
                    "The last item of a list is not found: `place([1, 3, 5], 5)` gives -1.",
                    "while low < high:",
                    "while low <= high:",
                ),
                "\n\ndef test_ends():\n    assert place([1, 3, 5], 5) == 2\n"
                "    assert place([1], 1) == 0\n",
            ),
            Fault(
                "    return -1\n",
                "    return None\n",
                told(
                    "For an item that is not there None is returned, not -1.",
                    "return None",
                    "return -1",
                ),
                "\n\ndef test_absent():\n    assert place([1, 3], 2) == -1\n"
                "    assert place([], 2) == -1\n",
            ),
        ),
    ),
    Repository(
        "settings",
        "Settings in text files.",
        '''"""Settings in text files."""


def parsed(text):
    """Settings by name, from lines such as `name = value`; `;` begins a remark."""
    found = {}
    for line in text.splitlines():
        line = line.partition(";")[0].strip()
        if "=" in line:
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found
''',
        "\n\ndef test_one():\n    assert parsed('a=1') == {'a': '1'}\n",
        (
            Fault(
                '        line = line.partition(";")[0].strip()\n',
                "        line = line.strip()\n",
                told(
                    "Remarks become part of the value: `a = 1 ; one` gives `1 ; one`.",
                    "line = line.strip()",
                    'line = line.partition(";")[0].strip()',
                ),
                "\n\ndef test_remark():\n    assert parsed('a = 1 ; one') == {'a': '1'}\n",
            ),
            Fault(
                '            name, _, value = line.partition("=")\n',
                '            name, _, value = line.rpartition("=")\n',
                "A value that holds an equals sign is cut: `url = x?a=1` gives a setting named"
                " `url = x?a`. The first sign of a line is the one that counts.",
                "\n\ndef test_second_sign():\n"
                "    assert parsed('url = x?a=1') == {'url': 'x?a=1'}\n",
            ),
        ),
    ),
    Repository(
        "grid",
        "Cells and their neighbours.",
        '''"""Cells and their neighbours."""


def neighbours(x, y, width, height):
    """The cells beside, above and below a cell, within the grid."""
    around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
    return [(a, b) for a, b in around if 0 <= a < width and 0 <= b < height]


def turned(rows):
    """A grid turned a quarter to the right."""
    return [list(column) for column in zip(*reversed(rows))]
''',
        "\n\ndef test_inner_cell():\n    assert len(neighbours(1, 1, 3, 3)) == 4\n"
        "\n\ndef test_single():\n    assert turned([[1]]) == [[1]]\n",
        (
            Fault(
                "    return [(a, b) for a, b in around if 0 <= a < width and 0 <= b < height]\n",
                "    return [(a, b) for a, b in around if a < width and b < height]\n",
                "`neighbours(0, 0, 3, 3)` lists cells with negative numbers. Only cells of the"
                " grid are neighbours.",
                "\n\ndef test_corner():\n    assert neighbours(0, 0, 3, 3) == [(1, 0), (0, 1)]\n",
            ),
            Fault(
                "    return [list(column) for column in zip(*reversed(rows))]\n",
                "    return [list(column) for column in zip(*rows)]\n",
                told(
                    "`turned` mirrors the grid instead of turning it.",
                    "return [list(column) for column in zip(*rows)]",
                    "return [list(column) for column in zip(*reversed(rows))]",
                ),
                "\n\ndef test_quarter():\n"
                "    assert turned([[1, 2], [3, 4]]) == [[3, 1], [4, 2]]\n",
            ),
        ),
    ),
    Repository(
        "cache",
        "Results kept for later.",
        '''"""Results kept for later."""


class Cache:
    """Keeps the newest results, at most `size` of them."""

    def __init__(self, size):
        self.size = size
        self.kept = {}

    def get(self, key, make):
        """The result for a key, made at the first time only."""
        if key not in self.kept:
            self.kept[key] = make()
            while len(self.kept) > self.size:
                self.kept.pop(next(iter(self.kept)))
        return self.kept[key]
''',
        "\n\ndef test_made():\n    assert Cache(2).get('a', lambda: 1) == 1\n",
        (
            Fault(
                "        if key not in self.kept:\n",
                "        if not self.kept.get(key):\n",
                told(
                    "Results such as 0 or an empty list are made again every time.",
                    "if not self.kept.get(key):",
                    "if key not in self.kept:",
                ),
                "\n\ndef test_zero_is_kept():\n    cache, made = Cache(2), []\n"
                "    for _ in range(2):\n"
                "        assert cache.get('a', lambda: made.append(1) or 0) == 0\n"
                "    assert made == [1]\n",
            ),
            Fault(
                "            while len(self.kept) > self.size:\n"
                "                self.kept.pop(next(iter(self.kept)))\n",
                "",
                "The cache grows without bound. It must drop the oldest results when there are"
                " more than `size`.",
                "\n\ndef test_bounded():\n    cache = Cache(2)\n    for n in range(5):\n"
                "        cache.get(n, lambda: n)\n    assert list(cache.kept) == [3, 4]\n",
            ),
        ),
    ),
    Repository(
        "units",
        "Lengths and temperatures.",
        '''"""Lengths and temperatures."""

METRES = {"m": 1, "km": 1000, "cm": 0.01}


def converted(value, unit, to):
    """A length in another unit."""
    return value * METRES[unit] / METRES[to]


def fahrenheit(celsius):
    """A temperature in degrees Fahrenheit."""
    return celsius * 9 / 5 + 32
''',
        "\n\ndef test_same_unit():\n    assert converted(3, 'm', 'm') == 3\n"
        "\n\ndef test_freezing():\n    assert fahrenheit(0) == 32\n",
        (
            Fault(
                "    return value * METRES[unit] / METRES[to]\n",
                "    return value * METRES[to] / METRES[unit]\n",
                told(
                    "`converted(2, 'km', 'm')` gives 0.002.",
                    "return value * METRES[to] / METRES[unit]",
                    "return value * METRES[unit] / METRES[to]",
                ),
                "\n\ndef test_kilometres():\n    assert converted(2, 'km', 'm') == 2000\n",
            ),
            Fault(
                "    return celsius * 9 / 5 + 32\n",
                "    return celsius * 5 / 9 + 32\n",
                told(
                    "Water boils at 87 degrees according to `fahrenheit(100)`.",
                    "return celsius * 5 / 9 + 32",
                    "return celsius * 9 / 5 + 32",
                ),
                "\n\ndef test_boiling():\n    assert fahrenheit(100) == 212\n",
            ),
        ),
    ),
)
