"""What the ends of epochs brought: slow update, guidance, the optimizer's own notes."""

from __future__ import annotations

from starlette.requests import Request

from skillopt_cli.ui.report.steps import epoch_blocks
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.site import Page, Site, named


def page(site: Site, request: Request) -> Page:
    """All epochs that have ended."""
    seen = site.runs.seen(named(request))
    blocks = [block for epoch in seen.view.epochs for block in epoch_blocks(epoch)]
    return framed(seen, "blocks.html", "Epochs", blocks=blocks, empty="No epoch has ended yet.")
