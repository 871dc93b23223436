"""Prompts of SpreadsheetBench."""

from collections.abc import Mapping

from skillopt_cli.benchmarks.kit.prompts import Prompts

_SCRIPT = (
    "The script reads the workbook at INPUT_PATH and saves the changed workbook at OUTPUT_PATH. "
    "Both names are defined already. It may use the standard library, openpyxl and pandas, and "
    "prints nothing. Cells must hold values: a formula counts by what it computes to, if it is "
    "computed at all. The same script is also run on other workbooks of the same form."
)
FORMATS: Mapping[str, str] = {
    "single": f"Reply with one self-contained Python script in one fenced block.\n{_SCRIPT}\n"
    "If you work in a folder that holds the workbook, write the script to solution.py there.",
    "multi": f"Reply with one self-contained Python script in one fenced block.\n{_SCRIPT}\n"
    "If it fails you are told why and may reply with a better one.\n"
    "If you work in a folder that holds the workbook, write the script to solution.py there.",
    "react": "You work in a folder that holds input.xlsx. Look at it, write solution.py with the "
    "tools, run it, open output.xlsx again and check the cells of the answer; then say in one "
    f"sentence, without a tool call, that you are done.\n{_SCRIPT} Here INPUT_PATH is input.xlsx "
    "and OUTPUT_PATH is output.xlsx; when you run solution.py yourself these two names are not "
    "defined, so let it fall back on the file names.",
}
"""How the target answers, by mode."""

PROMPTS = Prompts(
    role="You change Excel workbooks by writing Python.",
    seed_skill="""\
# Changing workbooks

- Open the workbook with openpyxl and look at the sheets, the header row and the last row first.
- Use openpyxl where formatting and other sheets must stay; pandas only to compute.
- Write the result into exactly the cells that the answer position names.
- Save the workbook at OUTPUT_PATH.
""",
    failures="""\
The tasks ask for changes to Excel workbooks, made by Python scripts. You see the instruction, a
preview of the workbook, the scripts with what came of them, and which cells of the answer were
wrong (gt is what was wanted, pred what the script left). Tell these causes apart:
`data_exploration` (it did not look at sheets, headers, blanks or the last row), `code_error` (the
script failed), `rule_missing`, `rule_wrong`, `rule_ignored`, and `other`. Look for a number kept
as text, a formula where a value was wanted, a range one row too short, another sheet, rounding, a
blank instead of a zero. Code that an instruction holds must run as it stands with openpyxl or
pandas. Values, sheet names and cells of these tasks do not belong in the skill.
""",
    successes="""\
The tasks ask for changes to Excel workbooks, made by Python scripts. Habits worth a rule are how
a script finds the header and the last row, how it keeps types, formats and other sheets, and how
it checks its result. Values, sheet names and cells of these tasks do not belong in the skill.
""",
)
