r"""Numbers in answers: "1,234", "12 %", "2 * 10^3", "(5)", "$1.5 million", compared exactly.

Digits are grouped by commas, spaces or apostrophes; the decimal sign is a point. The other way
round, "1.234,5" and "1.234.567" are read where they mean one thing only. "3,14" is not read at all
rather than read wrongly, and so is a number that is only a part of something else: of a range, a
list, a calculation, a comparison, a word. Words are numbers where an answer has nothing else.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from skillopt_cli.benchmarks.kit.number_words import with_digits
from skillopt_cli.benchmarks.kit.typography import SPACELESS, plain_marks
from skillopt_cli.benchmarks.kit.units import UNIT, Unit, read_unit, unit_before_text

_SCALES: dict[str, Fraction | int] = {
    "hundred": 10**2, "thousand": 10**3, "lakh": 10**5, "million": 10**6, "mio": 10**6,
    "crore": 10**7, "billion": 10**9, "mrd": 10**9, "trillion": 10**12, "quadrillion": 10**15,
    "quintillion": 10**18, "milliard": 10**9, "lac": 10**5, "mil": 10**6,
    "bil": 10**9,
    "dozen": 12, "half": Fraction(1, 2), "halves": Fraction(1, 2), "third": Fraction(1, 3),
    "quarter": Fraction(1, 4), "fifth": Fraction(1, 5), "sixth": Fraction(1, 6),
    "eighth": Fraction(1, 8),
    "tenth": Fraction(1, 10), "hundredth": Fraction(1, 100), "thousandth": Fraction(1, 1000),
    "millionth": Fraction(1, 10**6), "billionth": Fraction(1, 10**9),
    "k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "mln": 10**6, "B": 10**9, "bn": 10**9,
    "T": 10**12, "tn": 10**12,
    "百": 10**2, "千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12,
}  # fmt: skip
SCALE_WORDS = "|".join(f"{word}s?" for word in _SCALES if word.islower() and len(word) > 3)
_SHORT = "bn|mn|mln|tn|mio|mrd|mil|bil|lac"
_PROSE = (
    "or|and|to|through|until|versus|vs|is|are|was|were|than|in(?=\\ \\w)|as|at|of|by|for|from|with"
    "|x|total|altogether|overall|only|exactly|approx|approximately"
)
"""Words behind a number that are no unit of it."""
_CURRENCY = (
    r"(?:\b(?:US|CA?|AU?|HK|NZ|S|R))?\$\ ?|[€£¥₹₩]\ ?"
    r"|\b(?:USD|EUR|GBP|JPY|INR|CAD|AUD|HKD|NZD|SGD|BRL|CHF|CNY|KRW)\ ?"
)
_NUMBER = re.compile(
    rf"""
    (?<![\w.,/^√$€£¥₹₩]) (?<![\w)]-) (?<!\d\ ) (?<!\d[:'—~*+]) (?<!\w\() (?<!√[({{])
    (?P<before>(?:[-+(]|\b(?:minus|negative)\ |{_CURRENCY}){{0,6}})
    (?P<whole>\d+\ (?=\d+/\d))?
    (?P<digits>
        (?:\d{{1,3}}(?P<sep>[,' ])\d{{3}}(?:(?P=sep)\d{{3}})*|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}|\d+)
        (?:\.\d+)? | \.\d+
    )
    (?P<exponent>[eE][-+]?\d{{1,3}})?
    (?:/(?P<below>\d+))?
    (?:\ ?(?:\^|\*\*)\ ?(?P<power>-?\d{{1,3}}))?
    (?:\ ?[x*]\ ?10(?:\^|\*\*)(?P<ten>[-+]?\d{{1,3}}))?
    (?!\d|[.,/'^]\d|\ \d|[eE][-+]?\d|\ ?[√π^∞]|[xyzni]\b|x\d|\+(?!\w)|[-/]\s*\Z)
    # nor the head of something else
    (?P<scale>
        (?:[\ -]?(?i:{SCALE_WORDS})\b|\ ?(?i:{_SHORT})\b|\ ?[百万萬亿億兆]|\ ?千(?![克米瓦卡帕焦]))+
        | [kKMBT]\b | \ [MB]\b
    )?
    (?P<percent>\ ?(?:%|per\ ?cent\b|pct\b))?
    (?:[\ -]?(?!(?:{_PROSE})\b)(?P<unit>(?:/|per\ ){UNIT}|{UNIT}))?
    """,
    re.VERBOSE,
)
_MOST_DIGITS = 400
"""More digits than any answer has; exact arithmetic on more would take seconds."""
_LISTED = re.compile(r"(?:[\s,;&+÷x*/^±~|-]|:(?!\s))*")
_EITHER = re.compile(
    r",?\s*(?:or|and|to|through|until|versus|vs\.?)\s*(?:even|maybe|perhaps)?\s*"
    r"|\s*(?:[^\W\d]+\s+)?(?:out\s+)?of\s+(?:the\s+)?",
    re.IGNORECASE,
)
"""What separates two numbers of which neither alone is the answer."""
_SET_APART = re.compile(r"\b(?:in|of|on|by|for|after|since)\s*$", re.IGNORECASE)
"""What comes before a number that a comma sets apart from the next one."""
_COMPARED = re.compile(
    r"(?:[≤≥≠±√]|(?<![-=<])[<>]=?|\b(?:not|than|under|over|below|above|least|most|up to|except"
    r"|never|neither|nor?|(?:almost|nearly)(?: all)?|barely|hardly|cannot be|instead of"
    r"|rounded from|(?:half|third|quarter|factorial) of"
    r"|twice|double|triple|(?:root|log|ln|sin|cos|tan)(?: of)?"
    r"|(?:all|any\w*|every\w*)(?: \w+)? but)"
    r"|n't(?: be)?)\s*$|!$",
    re.IGNORECASE,
)
"""What comes before a number that another one is compared with or made from."""
_CHANGED = re.compile(
    r"\A\s*(?:squared|cubed|factorial|plus|ish|ers?|fold|odd|something)\b"
    r"|\b(?:or|and) (?:more|less|fewer|over|under|above"
    r"|below|up|greater|higher|lower|older|later)\b|\bat (?:most|least)\b|\bminimum\b|\bmaximum\b"
    r"|\A\s*(?:(?:is|was|are|be) (?:wrong|incorrect|false|not|rejected|excluded|ruled out|invalid)"
    r"|\w{1,5}n't|grand\W*\Z|\(?(?:wrong|incorrect|false)\b)"
    r"|\bmil[lhj]?i?[oõó](?!hm)\w*|\bmil+[ij]ard\w*|\btausend|\b(?:тыс|млн|млрд|милли(?:он|ард))\w*"
    r"|\b(?:hundred|thousand|lakh|million|crore|billion|trillion)s?\b"
    r"|\band (?:a|one) (?:half|third|quarter)\b",
    re.IGNORECASE,
)
"""What comes behind a number and makes another one of it."""
_DATED = re.compile(
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?,?\s*$", re.IGNORECASE
)
"""What comes before the year of a date."""
_ASIDE = re.compile(
    r"\d\S{0,20}(?: [^\W\d]{1,20})? ?\((?!about|approx|or |equals|in words)[^\W\d][^()\d]{0,80}$"
)
"""What comes before a number in parentheses behind another one, such as the year of a source."""
_DECADE = re.compile(r"\b(?:1\d|20)\d0'?s\b|(?:\b(?:the|mid|early|late)[ -]|')\d0'?s\b")
_ROUNDED = (
    r"(?:(?:rounded |correct |accurate )(?:off )?)?to (?:the )?",
    r"\d+[ -]?(?:s\.?f|d\.?p|sig(?:nificant|\.)? (?:figures?|figs?|digits?)|decimals?(?: places?)?)"
    r"\b\.?",
)
"""What states to how many digits a number is rounded: before them, and the digits."""
_SPELT = re.compile(
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|ty|hundred|thousand|million)$"
)
_LEFT_OVER = re.compile(r"(?<![^\W_])\d")
_LEDGER = re.compile(r"(?:^|[:=≈]|\b(?:is|of|was|by|about))\s*$")
"""What comes before a number in parentheses that is a negative one, as in accounts."""
_PLAINER = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"</?[A-Za-z]\w*>", " "),
        # Sources of what is said.
        (r"【[^】\n]{0,80}】|\[\^\d+\]", ""),
        (r"(\d(?: ?[^\W\d]{1,12})?[.%)]*)(?: ?\[\d{1,2}(?:, ?\d{1,2})*\])+(?!\w)", r"\1"),
        (rf"(?i)\((?:{_ROUNDED[0]})?{_ROUNDED[1]}\)|\b{_ROUNDED[0]}{_ROUNDED[1]}", " "),
        (r"(?<!\w)(__?)(?=\S)([^_\n]+)\1(?!\w)", r"\2"),
        # A dash or two may be a minus or none.
        (r"\+/-|\+-|(?:^|(?<=[\s=:(]))(?:—|--)(?=[\d.])", "±"),
        (r"!=|=/=", "≠"),
        (r"(\.\d+)\.\.\.", r"\1∞"),
        (r"\A([^'\"]*\d)'(?!\d)([^'\"]*)\Z", r"\1 ft\2"),
        (r"\A([^'\"]*\d)\"([^'\"]*)\Z", r"\1 in\2"),
        (r"\\(?:leq?|geq?|lt|gt|neq?)(?![a-z])", "≤"),
        (r"\^\{\\circ\}|\^\\circ|\\degree", "°"),
        (r"(?<=\d)_(?=\d{3})", ""),
        (r"(?<![\w.,])(\d{1,3}(?:\.\d{3}){2,})(?![\w.])", lambda m: m[1].replace(".", "")),
        (
            r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\w.,]?\d)",
            lambda m: f"{m[1].replace('.', '')}.{m[2]}",
        ),
        (r"\bUS dollars?\b", "USD"),
        (r"\b([ap])\.m\.", r"\1m"),
        (r"\\(?:text|textbf|mathrm|mathbf|mbox|boxed)\s*\{([^{}]*)\}", r"\1"),
        (r"(?<=\d)(?=\\[dt]?frac)", " "),
        (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"\1/\2"),
        (r"\\[dt]?frac\s*(\d)\s*(\d)", r"\1/\2"),
        (r"\\(?:times|cdot)(?![a-z])|\u00d7|(?<=\d) ?[\u00b7\u22c5] ?(?=\d)", "*"),
        (r"\\sqrt", "√"),
        (r"\\pi(?![a-z])|(?<=\d) ?pi\b", "π"),
        (r"\{,\}", ","),
        (r"\^[{(](-?\d+)[)}]", r"^\1"),
        (r"\\([$%&#])", r"\1"),
        (r"\\[,;:! ]", " "),
        (r"\\(?:left|right)?[()\[\]]?", ""),
        (r"\$([^$\s]|[^$\s][^$\n]*[^$\s])\$(?!\d)", r"\1"),
        (r"(?<=\w)\*\*(?!\d)|(?<!\w)\*\*|[`]", ""),
        (r"(?i) ?(?:°|\bdegrees?|\bdeg\.?) ?(?:c|celsius|centigrade)\b", "°C"),
        (r"(?i) ?(?:°|\bdegrees?|\bdeg\.?) ?(?:f|fahrenheit)\b", "°F"),
        (r"° ?([NSEW])\b", r" °\1"),
    )
)
_MONEY = re.compile(r"(?:CA?|AU?|HK|NZ|R|(?<!U)S)\$|[$€£¥₹₩]|[A-Z]{3}")
_SHARE = frozenset({("share", 1)})
_OF_MONEY = {"k": 10**3, "K": 10**3, "m": 10**6, "b": 10**9}
_SECOND = re.compile(rf"(?:[ -](?!(?:{_PROSE})\b)([^\W\d_]+))?\W*", re.VERBOSE)
"""What may come behind the first word of a unit that is not in the table: one more word."""
_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_AMOUNT = re.compile(r"(?:[A-Z]{3} )?[^\w]*(?!0\d)\d(?:.*\d)?\W*(?:\w+\W*){0,2}")
"""A number with a currency before it, or up to two words behind it; 0042 is a code."""
_LONGEST_NUMBER = 15
"""Digits of a number; more are an identifier."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written: 12 % has the value 12, 3 thousand has 3000.

    Attributes:
        unit: the unit it is given in, if that is known.
        word: the word behind it, if that is no known unit.
    """

    value: Fraction
    percent: bool = False
    unit: Unit | None = None
    word: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an answer may be off: an amount, or a share of the reference; the edge counts in."""

    amount: Fraction = Fraction(0)
    relative: bool = False

    def allows(self, answer: Fraction, reference: Fraction) -> bool:
        """Whether `answer` is near enough."""
        reach = self.amount * abs(reference) if self.relative else self.amount
        return abs(answer - reference) <= reach


def parse_tolerance(value: str | float) -> Tolerance:
    """A tolerance from "0.5" or "1%".

    Raises:
        ValueError: it is neither, or negative.
    """
    quantity = parse_number(str(value))
    if quantity is None or quantity.value < 0:
        raise ValueError(f"tolerance `{value}` is not an amount such as 0.5 or a share such as 1%")
    amount = quantity.value / 100 if quantity.percent else quantity.value
    return Tolerance(amount, quantity.percent)


def last_number(text: str) -> Quantity | None:
    """The last number of a text, None when there is none or when it is a part of something else."""
    text, found = _read(text)
    if not found or _LEFT_OVER.search(text, found[-1].end()):
        return None
    *earlier, last = found
    between = text[earlier[-1].end() if earlier else 0 : last.start()]
    before = text[: last.start()]
    if _COMPARED.search(before) or _CHANGED.search(_behind(last)):
        return None
    if _ASIDE.search(before) or (len(last["digits"]) == len("2000") and _DATED.search(before)):
        return None
    return None if earlier and _joined(earlier[-1], between) else _quantity(last)


def answer_to(text: str, reference: Quantity) -> Quantity | None:
    """The last number of an answer, as `last_number`.

    300K are 300 kelvins, 5 pounds a sum of money, and 1990s seconds where the reference is one;
    where it has no unit, 300 K may be 300,000.
    """
    kinds = {name for name, _ in reference.unit.kind} if reference.unit else set()
    if "temperature" in kinds:
        text = re.sub(r"(?<=\d)K\b", " K", text)
    if "sterling" in kinds:
        text = re.sub(r"\bpounds?\b", "GBP", text)
    if "time" not in kinds and _DECADE.search(text):
        return None
    answer = last_number(text)
    if not kinds and not reference.word and answer and answer.value != reference.value:
        return last_number(re.sub(r"(?<=\d)\s+K\b", "K", text))
    return answer


def parse_number(text: str) -> Quantity | None:
    """The number a text consists of, apart from a unit; None when it holds other digits too."""
    text, found = _read(text)
    if len(found) != 1 or _COMPARED.search(text[: found[0].start()]):
        return None
    if _CHANGED.search(_behind(found[0])):
        return None
    rest = text[: found[0].start()] + text[found[0].end() :]
    return None if any(char.isdigit() for char in rest) else _quantity(found[0])


def is_amount(text: str) -> bool:
    """Whether a text is a number, apart from a unit, and its value alone counts."""
    short = sum(map(str.isdigit, text)) <= _LONGEST_NUMBER
    return bool(short and _AMOUNT.fullmatch(text.strip()) and parse_number(text) is not None)


def same_number(answer: Quantity, reference: Quantity, tolerance: Tolerance) -> bool:
    """Whether two quantities agree within the tolerance.

    Units are converted; where only one of the two has a unit, it may be that of the question. When
    only one of them is a share, as in percent, and the other has no unit, 12 and 0.12 both agree
    with 12 %: a question may ask for the number of percent or for the share.
    """
    if answer.unit and reference.unit:
        value = answer.unit.convert(answer.value, reference.unit)
        return value is not None and tolerance.allows(value, reference.value)
    if (answer.unit or answer.word) and (reference.unit or reference.word):
        one, other = sorted((answer.word.split(), reference.word.split()), key=len)
        same_word = bool(one) and other[-len(one) :] == one
        return same_word and tolerance.allows(answer.value, reference.value)
    readings = [answer.value]
    if answer.unit and answer.unit.kind == _SHARE:
        readings.append(answer.value * answer.unit.factor)
    if reference.unit and reference.unit.kind == _SHARE:
        readings.append(answer.value / reference.unit.factor)
    return any(tolerance.allows(value, reference.value) for value in readings)


def formatted(value: Fraction) -> str:
    """A value in the decimal system, with at most ten digits that count."""
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.10g}"


def _read(text: str) -> tuple[str, list[re.Match[str]]]:
    """The text in one way of writing, and the numbers in it."""
    text = with_digits(text)
    if not any(map(str.isnumeric, text)):
        return text, []
    text = _plain(text)
    return text, list(_NUMBER.finditer(text))


def _behind(match: re.Match[str]) -> str:
    """The text behind a number, its unit included."""
    return match.string[match.start("unit") if match["unit"] else match.end() :]


def _plain(text: str) -> str:
    """The text in one way of writing: plain digits, hyphens and spaces, without LaTeX."""
    text = re.sub(
        "[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+",
        lambda match: "^" + match[0].translate(_RAISED),
        plain_marks(html.unescape(text)),
    )
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/")
    for pattern, by in _PLAINER:
        text = pattern.sub(by, text)
    text = re.sub(f"(?<=[{SPACELESS}])(?=[-(.$€£¥]?\\d)", " ", text)
    # A minus set apart from its number, where nothing precedes it that it could be taken from.
    return re.sub(r"(^|[=:≈(]|\bis|\babout)([^\S\n]*-)[^\S\n]+(?=[\d.$€£¥(])", r"\1\2", text)


def _quantity(match: re.Match[str]) -> Quantity | None:
    if len(match["digits"]) > _MOST_DIGITS:
        return None
    value = Fraction(Decimal(re.sub("[,' ]", "", match["digits"]) + (match["exponent"] or "")))
    if match["below"]:
        if not (below := int(match["below"])):
            return None
        value = value / below + int(match["whole"] or 0)
    if match["power"]:
        power = int(match["power"])
        if (power < 0 and not value) or abs(power) * len(match["digits"]) > _MOST_DIGITS:
            return None
        value **= power
    value *= Fraction(10) ** int(match["ten"] or 0)
    for word in re.findall(r"[A-Za-z]+|[^\W\d]", match["scale"] or ""):
        value *= _SCALES.get(word) or _SCALES.get(word.lower()) or _SCALES[word.lower()[:-1]]
    sign = _sign(match)
    name = match["unit"] or ""
    part_of_word = len(name) == 1 and match.end() - match.start("unit") == 1
    part_of_word = part_of_word and match.string[match.start("unit") - 1].isdigit()
    if not sign or (part_of_word and name.isascii() and name.isalpha() and not read_unit(name)):
        return None
    unit, word, more = _unit(match)
    return Quantity(sign * more * value, bool(match["percent"]), unit, word)


def _joined(earlier: re.Match[str], between: str) -> bool:
    """Whether a number and the next one are a range, a list or a calculation."""
    if _EITHER.fullmatch(between):
        return True
    prose = (earlier["unit"] and read_unit(earlier["unit"]) is None) or _SET_APART.search(
        earlier.string[: earlier.start()]
    )
    return not prose and _LISTED.fullmatch(between) is not None


def _sign(match: re.Match[str]) -> int:
    """1 or -1; 0 where parentheses may mean either."""
    before = match["before"]
    sign = -1 if len(re.findall("-|minus|negative", before)) % 2 else 1
    if "(" not in before or sign < 0 or not re.match(r"\s*\)", match.string[match.end() :]):
        return sign
    preceding = match.string[: match.start()]
    if _SPELT.search(preceding.rstrip()):
        return 1
    return -1 if _LEDGER.search(preceding) else 0


def _unit(match: re.Match[str]) -> tuple[Unit | None, str, int]:
    """The unit of a number, else the word that ends the text behind it, and a factor in it."""
    name = match["unit"] or ""
    if currency := _MONEY.search(match["before"]):
        if name in _OF_MONEY:
            return read_unit(currency[0]), "", _OF_MONEY[name]
        ratio = name if re.match("/|per ", name) else ""
        return read_unit(f"{currency[0]} {ratio}".strip()), "", 1
    if match["percent"]:
        return read_unit("%"), "", 1
    spaceless = re.match(f"[{SPACELESS}]+", name)
    unit = unit_before_text(name) if spaceless else read_unit(name) if name else None
    more = _SECOND.fullmatch(match.string[match.end() :])
    if unit is not None or more is None or not name or spaceless:
        return unit, "", 1
    word = f"{name} {more[1]}" if more[1] else name
    # In a symbol of a unit, such as MBps, case counts.
    symbol = not word.isupper() and re.search("[A-Z]", word[1:]) and " " not in word
    return None, re.sub(r"(?<=\w)s\Z", "", word if symbol else word.casefold()), 1
