"""What the ends of epochs brought: slow update, guidance, the optimizer's own notes."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request

from skillopt_cli.ui.page import Block, Heading
from skillopt_cli.ui.report.steps import epoch_blocks
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.site import Page, Site, named


def page(site: Site, request: Request) -> Page:
    """All epochs that have ended."""
    seen = site.runs.seen(named(request))
    blocks = [_raised(block) for epoch in seen.view.epochs for block in epoch_blocks(epoch)]
    return framed(seen, "told.html", "Epochs", blocks=blocks, empty="No epoch has ended yet.")


def _raised(block: Block) -> Block:
    """An epoch's heading stands right below the page's."""
    return replace(block, level=2) if isinstance(block, Heading) else block
