"""The files a page needs: one style sheet, one script, all of our own."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from skillopt_cli.ui.pictures import style
from skillopt_cli.web.site import ASSETS

KINDS = {
    "app.js": "text/javascript",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    "pictures.css": "text/css",
}
"""Every file there is, and what it is."""


PICTURES = "pictures.css"
"""The rules of the pictures, which belong to whoever draws them."""


async def asset(request: Request) -> Response:
    """One of the files; any other name is refused before it is looked for."""
    name = request.path_params["name"]
    if name not in KINDS:
        raise HTTPException(404)
    body = style().encode() if name == PICTURES else ASSETS.joinpath(name).read_bytes()
    # Asked for anew each time, so that a newer version of the program is never shown by an old one.
    return Response(body, media_type=KINDS[name], headers={"Cache-Control": "no-cache"})
