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
CONTRAST = {"runOnly": ["color-contrast"]}


def faults_of(page: Any) -> list[str]:
    """What is cut off on an open page, and what keeps people from using it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate(axe.axe_script)
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        # Nothing but colours differs in the dark.
        for scheme, options in (("light", {}), ("dark", CONTRAST)):
            page.emulate_media(color_scheme=scheme)
            faults = page.evaluate(CUT) if scheme == "light" else []
            faults += page.evaluate(SERIOUS, {"resultTypes": ["violations"], **options})
            found += [f"{width} px, {scheme}: {fault}" for fault in faults]
    return found


SERIOUS = """
async (options) => {
    const { violations } = await axe.run(document, options);
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    return serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 150)}`);
}
"""
"""What keeps people from using a page, and where first."""
