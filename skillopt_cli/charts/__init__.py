"""Pictures of a run, drawn as SVG text: pure functions from a `RunView`, for reports and pages.

What they need of a style sheet is in `style()`; they carry no style, no script and no address.
"""
