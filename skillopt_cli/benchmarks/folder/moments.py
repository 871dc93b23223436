"""Whether a text is a date, a time of day or both, as exports of tables write them."""

from __future__ import annotations

import re

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = rf"""
    \d{{4}}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])  # 2024-03-05
    | (?:0?[1-9]|[12]\d|3[01])([-/.])(?:0?[1-9]|[12]\d|3[01])\1(?:\d{{4}}|\d{{2}})  # 5.3.24
    | (?:0?[1-9]|[12]\d|3[01])(?:[ -]|\.[ ]?){_MONTH}[ ,-]*\d{{4}}  # 5 Mar 2024
    | {_MONTH}[ ](?:0?[1-9]|[12]\d|3[01]),?[ ]\d{{4}}  # March 5, 2024
"""
_TIME = r"""
    (?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?
    (?:[ ]?[ap]\.?m\.?)?
    (?:[ ]?(?:z|utc|gmt|[+-]\d{2}:?(?:\d{2})?))?
"""
_MOMENT = re.compile(
    rf"(?:{_DATE})(?:(?:[ ]*t[ ]*|,?[ ]+){_TIME})?|{_TIME}", re.IGNORECASE | re.VERBOSE
)


def is_moment(text: str) -> bool:
    """Whether a text is a date, a time of day, or a date with a time.

    Taken are ISO 8601 with dashes, slashes or points, days before months and after them, and months
    by their English names.
    """
    return _MOMENT.fullmatch(text.strip()) is not None
