"""Runs a script with two names given: a program of its own that knows nothing of this package.

Usage: python -c TEXT-OF-THIS-FILE SCRIPT INPUT OUTPUT. The script runs as the main module, its text
untouched, with INPUT_PATH and OUTPUT_PATH defined; where it sets these names itself, as if it had
to, that statement does nothing.
"""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
import types
from pathlib import Path

GIVEN = frozenset({"INPUT_PATH", "OUTPUT_PATH"})


class _WithoutGiven(ast.NodeTransformer):
    """Puts `pass` in the place of assignments to the given names."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        targets = [name for target in node.targets for name in _names(target)]
        return _nothing(node) if targets and GIVEN.issuperset(targets) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return _nothing(node) if GIVEN.issuperset(_names(node.target)) else node


def _names(target: ast.expr) -> list[str]:
    """The names that an assignment binds; an empty one for anything that is not a name."""
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [name for part in parts for name in _names(part)]
        case _:
            return [""]


def _nothing(node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Pass(), node)


def main() -> None:
    """Run the script; an error of its own is printed as Python would, and ends with code 2."""
    script, given_input, given_output = sys.argv[1:]
    text = Path(script).read_bytes()
    lines = text.decode(errors="replace").splitlines(keepends=True)
    linecache.cache[script] = (len(text), None, lines, script)
    sys.argv = [script]
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=script, INPUT_PATH=given_input, OUTPUT_PATH=given_output, __builtins__=__builtins__
    )
    sys.modules["__main__"] = module
    try:
        tree = ast.fix_missing_locations(_WithoutGiven().visit(ast.parse(text, script)))
        code = compile(tree, script, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    # Whatever the script raised is printed, without the frames of this file.
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != script:
            trace = trace.tb_next
        traceback.print_exception(error.with_traceback(trace))
        sys.exit(2)


if __name__ == "__main__":
    main()
