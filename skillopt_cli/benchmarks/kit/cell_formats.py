"""Numbers, dates and times of a sheet as its cells show them."""

from __future__ import annotations

import calendar
import datetime
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

Moment = datetime.datetime | datetime.date | datetime.time
_IN_SYSTEM_STYLE = ("General", "mm-dd-yy", "m/d/yy h:mm", "[$-F800]", "[$-F400]")
"""Formats that each computer shows in its own way: a date in them is written as 2024-03-05."""
_ASIDE = re.compile(r"\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].")
"""Currencies and their language, colours and conditions, spaces and fillers."""
_QUOTED = r'"[^"]*"|\\.'
_DIGITS = re.compile(r"[0#?,]*[0#?](?:\.[0#?]*)?(?:,*)|\.[0#?]+")
_PLAIN = re.compile(r"[0#?,.%\s$€£¥()+-]*")
_DATE_PART = re.compile(_QUOTED + r"|[yY]+|[mM]+|[dD]+|[hH]+|[sS]+(?:\.0+)?|(?i:am/pm|a/p)|.")


def shown_number(value: float, form: str) -> str:
    """A number in a cell's format; as it is written in full where the format is a rarer one."""
    sections = form.split(";")
    section = sections[1] if value < 0 and len(sections) > 1 else sections[0]
    section = _ASIDE.sub(lambda found: found[1] or "", section)
    bare = re.sub(_QUOTED, "", section)
    if not _DIGITS.search(bare) or not _PLAIN.fullmatch(bare):
        return _in_full(value)
    number = Decimal(value if isinstance(value, int) else repr(value))
    sign = "-" if number < 0 and len(sections) < 2 else ""
    texts: list[str] = []

    def kept(found: re.Match[str]) -> str:
        texts.append(found[0][1:].rstrip('"'))
        return "\0"

    marked = re.sub(_QUOTED, kept, section)
    pattern = _DIGITS.search(marked)
    if pattern is None:
        return _in_full(value)
    number *= 100 ** bare.count("%")
    begin, end = marked[: pattern.start()], marked[pattern.end() :]
    shown = sign + begin + _in_digits(abs(number), pattern[0]) + end
    for text in texts:
        shown = shown.replace("\0", text, 1)
    return shown.strip()


def _in_digits(number: Decimal, pattern: str) -> str:
    """A number that is not negative, in placeholders such as `#,##0.00`."""
    scaled = pattern.rstrip(",")
    number /= 1000 ** (len(pattern) - len(scaled))
    whole, _, fraction = scaled.partition(".")
    with localcontext() as context:
        context.prec = 400
        rounded = number.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)
    left, _, right = f"{rounded:f}".partition(".")
    # A placeholder # shows no zero that does not count.
    right = right[: fraction.count("0")] + right[fraction.count("0") :].rstrip("0")
    left = left.lstrip("0").zfill(whole.count("0"))
    if "," in whole:
        left = re.sub(r"(?<=\d)(?=(?:\d{3})+\Z)", ",", left)
    return f"{left}.{right}" if right else left


def _in_full(value: float) -> str:
    """A number without a format: 15 digits, as a sheet stores them, and no `.0`."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else f"{value:.15g}"


def shown_moment(value: Moment, form: str) -> str:
    """A date or time in a cell's format, its names in English."""
    form = form.split(";")[0]
    if form.startswith(_IN_SYSTEM_STYLE):
        midnight = isinstance(value, datetime.datetime) and value.time() == datetime.time()
        return str(value.date() if midnight and isinstance(value, datetime.datetime) else value)
    parts = _DATE_PART.findall(_ASIDE.sub("", form))
    of_date = any(part[0] in "yYdD" for part in parts)
    if of_date and isinstance(value, datetime.time):
        return str(value)
    half = any(part.lower() in ("am/pm", "a/p") for part in parts)
    shown, before = "", ""
    for number, part in enumerate(parts):
        letters = part.lower()
        after = next((p[0].lower() for p in parts[number + 1 :] if p[0].lower() in "ymdhs"), "")
        # The letter m is a minute beside hours or seconds, else a month.
        if letters[0] == "m" and (before == "h" or after == "s"):
            letters = letters.replace("m", "n")
        shown += _moment_part(value, letters, part, half=half)
        before = letters[0] if letters[0] in "ymndhs" else before
    return shown.strip()


def _moment_part(value: Moment, letters: str, part: str, *, half: bool) -> str:
    """A part of a format, such as `yyyy` or the `/` between two.

    Args:
        half: whether hours are counted to twelve.
    """
    kind, long = letters[0], len(letters)
    if isinstance(value, datetime.date) and kind in "ymd":
        return _date_part(value, kind, long)
    if isinstance(value, datetime.datetime | datetime.time):
        if letters in ("am/pm", "a/p"):
            return ("AM" if value.hour < 12 else "PM")[: 2 if long > 3 else 1]
        hour = (value.hour + 11) % 12 + 1 if half else value.hour
        counted = {"h": hour, "n": value.minute, "s": value.second}
        if kind in counted:
            return f"{counted[kind]:0{min(long, 2)}d}"
    return part[1:].rstrip('"') if part[0] in '"\\' else part


def _date_part(value: datetime.date, kind: str, long: int) -> str:
    if kind == "y":
        return f"{value.year:04d}" if long > 2 else f"{value.year % 100:02d}"
    number = value.month if kind == "m" else value.day
    if long < 3:
        return f"{number:0{long}d}"
    name = calendar.month_name[number] if kind == "m" else calendar.day_name[value.weekday()]
    return name[:3] if long == 3 else name[:1] if long == 5 and kind == "m" else name
