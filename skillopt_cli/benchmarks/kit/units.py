"""Units of measure in answers, from a closed table, so that no word of prose is taken for one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

_TABLE = {
    "length": "1 m metre meter; 1000 km kilometre kilometer; 1/100 cm centimetre centimeter;"
    " 1/10 dm;"
    " 1/1000 mm millimetre millimeter; 1/1000000 μm um micrometre micrometer micron;"
    " 1/1000000000 nm nanometre nanometer; 0.0254 in inch inches; 0.3048 ft foot feet;"
    " 0.9144 yd yard; 1609.344 mi mile; 1000 千米 公里; 1 米; 1/100 厘米; 1/1000 毫米",
    "area": "10000 ha hectare; 4046.8564224 acre; 0.09290304 sqft; 1 sqm; 1000000 sqkm",
    "volume": "1/1000 l L litre liter; 1/1000000 ml mL millilitre milliliter cc;"
    " 1/100000 cl centilitre centiliter; 1/10000 dl; 0.003785411784 gal gallon; 1/1000 升;"
    " 1/1000000 毫升",
    "mass": "1 kg kilogram kilo; 1/1000 g gram gramme; 1/1000000 mg milligram;"
    " 1/1000000000 μg ug mcg microgram; 1000 t tonne Mg; 0.45359237 lb lbs pound;"
    " 0.028349523125 oz ounce; 1 千克 公斤; 0.5 斤; 1/1000 克; 1/1000000 毫克; 1000 吨",
    "time": "1 s sec second; 1/1000 ms msec millisecond; 1/1000000 μs us microsecond;"
    " 1/1000000000 ns nanosecond; 60 min minute; 3600 h hr hour; 86400 d day; 604800 wk week; 1 秒;"
    " 60 分钟; 3600 小时; 86400 天 日",
    "months": "1 month; 12 yr year; 120 decade; 1200 century centuries; 12 年",
    "data": "1 bit; 1000 kbit Kbit kb Kb; 1000000 Mbit Mb; 1000000000 Gbit Gb; 8 byte;"
    " 8000 kB KB kilobyte; 8000000 MB megabyte; 8000000000 GB gigabyte;"
    " 8000000000000 TB terabyte; 8192 KiB; 8388608 MiB; 8589934592 GiB",
    "energy": "1 J joule; 1000 kJ kilojoule; 1000000 MJ; 3600 Wh; 3600000 kWh; 3600000000 MWh;"
    " 4.184 cal calorie; 4184 kcal Cal",
    "power": "1 W watt; 1000 kW kilowatt; 1000000 MW megawatt; 1/1000 mW milliwatt; 1000000000 GW",
    "pressure": "1 Pa pascal; 1000 kPa; 100 hPa mbar; 1000000 MPa; 100000 bar; 101325 atm",
    "force": "1 N newton; 1000 kN",
    "voltage": "1 V volt; 1/1000 mV millivolt; 1000 kV kilovolt",
    "current": "1 A amp ampere; 1/1000 mA milliamp",
    "resistance": "1 Ω ohm; 1000 kΩ",
    "frequency": "1 Hz hertz; 1000 kHz; 1000000 MHz; 1000000000 GHz",
    "amount": "1 mol mole; 1/1000 mmol",
    "angle": "1 ° deg degree",
    "radian": "1 rad radian",
    "share": "1/100 % percent pct; 1/1000 ‰ permille; 1/10000 bp bps; 1/1000000 ppm",
    "dollar": "1 $ USD dollar; 1/100 cent ¢",
    "canadian": "1 C$ CA$ CAD",
    "australian": "1 A$ AU$ AUD",
    "hongkong": "1 HK$ HKD",
    "newzealand": "1 NZ$ NZD",
    "singapore": "1 S$ SGD",
    "real": "1 R$ BRL",
    "franc": "1 CHF",
    "yuan": "1 CNY RMB yuan 元",
    "won": "1 ₩ KRW",
    "euro": "1 € EUR euro",
    "sterling": "1 £ GBP",
    "yen": "1 ¥ JPY yen 円",
    "rupee": "1 ₹ INR rupee",
}
_BASE = {"area": ("length", 2), "volume": ("length", 3)}
_WORD = r"(?:°\ ?[CFNSEW]\b|[%‰°$€£¥₹₩¢]|[^\W\d_]+)"
_POWER = r"(?:\^?-?[123](?!\d))?"
UNIT = (
    rf"(?:(?:square|cubic|sq\.?|cu\.?)\ )?{_WORD}{_POWER}"
    rf"(?:\ ?(?:/|·|\*|\bper\b)\ ?{_WORD}{_POWER}|\ {_WORD}\^?-[123](?!\d))*"
)
"""Source of a pattern of what may be a unit; `read_unit` decides whether it is one."""
_FACTOR = re.compile(rf"(square|cubic|sq\.?|cu\.?)?\ ?({_WORD})\^?(-?[123])?")
_PLAIN_POWER = {"s": 2, "c": 3}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a kind, such as speed, as a multiple of the basic unit of that kind.

    Attributes:
        zero: what is added to a value before it is multiplied, as for degrees Celsius.
    """

    kind: frozenset[tuple[str, int]]
    factor: Fraction
    zero: Fraction = Fraction(0)

    def convert(self, value: Fraction, to: Unit) -> Fraction | None:
        """The value in another unit; None where that is of another kind."""
        if self.kind != to.kind:
            return None
        return (value + self.zero) * self.factor / to.factor - to.zero


def read_unit(text: str) -> Unit | None:
    """The unit that a text names, None where any part of it is not in the table."""
    if whole := _named(text):
        return whole
    powers: Counter[str] = Counter()
    factor = Fraction(1)
    text = re.sub(r"\ (?=[^\W\d_]+\^?-)", "·", text).replace("*", "·")
    for number, part in enumerate(re.split(r"(/|·|\bper\b)", text)):
        if number % 2:
            below = part != "·"
            continue
        match = _FACTOR.fullmatch(part.strip())
        unit = _named(match[2]) if match else None
        if match is None or unit is None or unit.zero:
            return None
        power = int(match[3] or 1) * (_PLAIN_POWER[match[1][0]] if match[1] else 1)
        if number and below:
            power = -power
        factor *= unit.factor**power
        for kind, own in unit.kind:
            powers[kind] += own * power
    return Unit(frozenset((kind, n) for kind, n in powers.items() if n), factor)


def unit_before_text(text: str) -> Unit | None:
    """The unit that begins a text in a script without spaces, None where none does."""
    return next((_UNITS[text[:n]] for n in range(_LONGEST, 0, -1) if text[:n] in _UNITS), None)


def _named(word: str) -> Unit | None:
    """The unit of a single name; in a symbol of one or two letters case counts, but for KG."""
    spellings = [word, word.removesuffix("s")]
    if len(word) > 2 or (len(word) == 2 and word[0] in "KCIFLYOH"):
        spellings += [word.lower(), word.lower().removesuffix("s")]
    return next((_UNITS[name] for name in spellings if name in _UNITS), None)


def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for kind, lines in _TABLE.items():
        for line in lines.split(";"):
            factor, *names = line.split()
            unit = Unit(frozenset({_BASE.get(kind, (kind, 1))}), Fraction(factor))
            units |= dict.fromkeys(names, unit)
    heat = frozenset({("temperature", 1)})
    celsius = Unit(heat, Fraction(1), Fraction("273.15"))
    units |= dict.fromkeys(("°C", "° C", "celsius", "degC"), celsius)
    fahrenheit = Unit(heat, Fraction(5, 9), Fraction("459.67"))
    units |= dict.fromkeys(("°F", "° F", "fahrenheit", "degF"), fahrenheit)
    units |= dict.fromkeys(("K", "kelvin"), Unit(heat, Fraction(1)))
    hour = Fraction(3600)
    speed = frozenset({("length", 1), ("time", -1)})
    units["mph"] = Unit(speed, Fraction("1609.344") / hour)
    units |= dict.fromkeys(("kph", "kmh"), Unit(speed, 1000 / hour))
    return units


_UNITS = _units()
_LONGEST = 2
"""Characters of a unit in a script without spaces."""
