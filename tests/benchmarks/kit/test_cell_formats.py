from datetime import date, datetime, time

import pytest

from skillopt_cli.benchmarks.kit.cell_formats import Moment, shown_moment, shown_number


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (7, "General", "7"),
        (7.0, "General", "7"),
        (-0.5, "General", "-0.5"),
        (0.1 + 0.2, "General", "0.3"),
        (12345678901234567890, "General", "12345678901234567890"),
        (1e-7, "General", "1e-07"),
        (7, "@", "7"),
        (7, "00000", "00007"),
        (1.5, "0.00", "1.50"),
        (1.005, "0.00", "1.01"),
        (1.25, "0.##", "1.25"),
        (1.5, "0.0#", "1.5"),
        (2, "0.##", "2"),
        (0.5, "#.0", ".5"),
        (1234567, "#,##0", "1,234,567"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (1234567, '#,##0,"k"', "1,235k"),
        (0.12, "0%", "12%"),
        (0.1234, "0.0%", "12.3%"),
        (5, '0 "kg"', "5 kg"),
        (5, r"0\ \m", "5 m"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (-3, "0;(0)", "(3)"),
        (-3, "0;[Red]-0", "-3"),
        (1234.5, "_($* #,##0.00_);_($* (#,##0.00)", "$1,234.50"),
        (-1234.5, "_($* #,##0.00_);_($* (#,##0.00)", "$(1,234.50)"),
        # In full, where the format is a rarer one.
        (1500, "0.00E+00", "1500"),
        (0.5, "# ?/?", "0.5"),
        (1e300, "0", f"1{'0' * 300}"),
    ],
)
def test_numbers_are_as_a_sheet_shows_them(value: float, form: str, shown: str) -> None:
    assert shown_number(value, form) == shown


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (datetime(2024, 3, 5), "dd.mm.yyyy", "05.03.2024"),
        (datetime(2024, 3, 5), "d/m/yy", "5/3/24"),
        (date(2024, 3, 5), "yyyy\\-mm\\-dd", "2024-03-05"),
        (datetime(2024, 3, 5), "mmmm d, yyyy", "March 5, 2024"),
        (datetime(2024, 3, 5), "ddd dd mmm", "Tue 05 Mar"),
        (datetime(2024, 3, 5), "[$-409]d\\-mmm\\-yy;@", "5-Mar-24"),
        (datetime(2024, 3, 5), 'd. "of" mmmmm', "5. of M"),
        (datetime(2024, 3, 5, 14, 5, 9), "yyyy-mm-dd hh:mm:ss", "2024-03-05 14:05:09"),
        (datetime(2024, 3, 5, 14, 5), "m/d/yyyy h:mm AM/PM", "3/5/2024 2:05 PM"),
        (time(0, 5, 9), "h:mm A/P", "12:05 A"),
        (time(0, 5, 9), "mm:ss", "05:09"),
        # Each computer shows these in its own way.
        (datetime(2024, 3, 5), "mm-dd-yy", "2024-03-05"),
        (datetime(2024, 3, 5, 14, 5), "m/d/yy h:mm", "2024-03-05 14:05:00"),
        (datetime(2024, 3, 5), "General", "2024-03-05"),
        (time(14, 5), "yyyy-mm-dd", "14:05:00"),
    ],
)
def test_dates_and_times_are_as_a_sheet_shows_them(value: Moment, form: str, shown: str) -> None:
    assert shown_moment(value, form) == shown
