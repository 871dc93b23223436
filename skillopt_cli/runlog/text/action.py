"""How a step or an epoch's end came out, in words."""

from __future__ import annotations

_WORDS = {
    "accept_new_best": "accepted, new best",
    "accept": "accepted",
    "force_accept": "accepted by force",
    "reject": "rejected",
    "indecisive": "indecisive",
    "skip_no_patches": "skipped, no edit proposed",
    "skip_no_op": "skipped, skill unchanged",
    "skip_no_rewrite": "skipped, no usable rewrite",
    "skip_refused": "skipped, proposal refused",
    "inject_placeholder": "no guidance yet",
    "no_content": "no usable guidance",
}


def action_words(action: str | None, otherwise: str = "unfinished") -> str:
    """The action of `history.json` for people.

    Args:
        otherwise: what is returned where there is no action yet.
    """
    return _WORDS.get(action, action) if action else otherwise
