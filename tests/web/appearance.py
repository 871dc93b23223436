"""What is wrong with how a page looks, at each width and in each colour scheme."""

from __future__ import annotations

from typing import Any

import pytest

WIDTHS = (390, 800, 1400)
"""A telephone, a tablet, a screen, in pixels."""
CUT = """
() => {
    const spared = ".scroll, .aside-only, svg, pre, .skip, score-chart, option";
    const fields = "input, select, textarea, table";
    const unseen = (head) => head && getComputedStyle(head).clipPath !== "none";
    const cut = [...document.querySelectorAll("body *")].filter((one) => {
        const box = one.getBoundingClientRect();
        if (!box.width || one.closest(spared) || unseen(one.closest("thead"))) return false;
        const wider = one.clientWidth && one.scrollWidth > one.clientWidth + 1;
        const spills = wider && !one.matches(fields);
        return spills || box.right > innerWidth + 1 || box.left < -1;
    });
    const wide = document.documentElement.scrollWidth > innerWidth;
    return [
        ...(wide ? ["the page is wider than the screen"] : []),
        ...cut.slice(0, 3).map((one) => `cut off: ${one.outerHTML.slice(0, 150)}`),
    ];
}
"""
"""Elements wider than the screen or than what holds them, other than in places to be scrolled."""
DRAWN = """
async () => { for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame); }
"""
"""Ends when charts that follow the width of their place are drawn anew."""
THIN = """
() => {
    const kept = new Map();
    const shape = (one) => [
        one.tagName, !!one.textContent.trim(),
        ...[...one.attributes].map(({ name, value }) =>
            ["class", "role", "fill", "scope", "type"].includes(name) ? `${name}=${value}` : name),
    ].join(" ");
    for (const row of document.querySelectorAll("tbody tr, g[data-task], li, option")) {
        const shapes = kept.get(row.parentNode) ?? new Set();
        kept.set(row.parentNode, shapes);
        const own = [row, ...row.querySelectorAll("*")].map(shape).join();
        if (shapes.has(own)) row.remove();
        shapes.add(own);
    }
}
"""
"""Removes rows of which another one of the same table has the same elements, classes and roles."""


def faults_of(page: Any) -> list[str]:
    """What is cut off on an open page, and what keeps people from using it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(DRAWN)
        found += [f"{width} px: {fault}" for fault in page.evaluate(CUT)]
    # What is true of a row is true of all that are made like it.
    page.evaluate(THIN)
    page.evaluate(axe.axe_script)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            faults = page.evaluate(SERIOUS)
            found += [f"{width} px, {scheme}: {fault}" for fault in faults]
    return found


SERIOUS = """
async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    return serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 150)}`);
}
"""
"""What keeps people from using a page, and where first."""
