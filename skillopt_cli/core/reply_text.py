"""Reading a reply: the answer in a model's text, without what servers and models put around it.

Thoughts, channel markers, end tokens and control characters are removed. The text that a thought
was cut in is no answer. Reading an answer again alters nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from skillopt_cli.core.control_characters import without_controls

THOUGHT = "a thought"
CHANNEL = "channel markers"
TURN = "the mark of a turn"
END_TOKEN = "an end token"
CONTROLS = "control characters"
BOX = "the marks of a box"

_NAMES = r"(?:\w{1,16}:|longcat_|ant)?(?:think|thinking|thoughts?|reasoning(?:_content)?)"
_OPEN = (
    rf"(?i:(?:<|&lt;){_NAMES}(?:\s[\w-]{{1,20}}=\"[^\"<>]{{0,80}}\"){{0,4}}\s{{0,3}}(?:>|&gt;)"
    rf"|<\|(?:START_THINKING|begin_of_thought|{_NAMES}|inner_prefix)\|>)"
    r"|\[THINK\]|◁think▷|<\|channel>thought\b|<unused94>(?:thought\b)?"
)
_CLOSE = (
    rf"(?i:(?:<|&lt;)/{_NAMES}\s{{0,3}}(?:>|&gt;)"
    rf"|<\|(?:END_THINKING|end_of_thought|/{_NAMES}|inner_suffix)\|>)"
    r"|\[/THINK\]|◁/think▷|<channel\|>|<unused95>|\[BEGIN FINAL RESPONSE\]"
    r"|<\|begin\|>\s*assistant\s*<\|content\|>"
)
_TAG = re.compile(rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})")
_TAG_ENDS = re.compile(
    r"(?i)(?:think|thinking|thoughts?|reasoning|content)(?:\s[^<>]{0,320}\")?\s{0,3}(?:\|?>|&gt;|\]|▷)"
    r"|<\|?channel\|?>|<unused9[45]>|FINAL RESPONSE\]|<\|inner_\w{6}\|>"
)
"""What every text with a tag has, and few other texts."""
_IN_PROSE = re.compile(
    r"\s*+(?:Here(?: is|'s) my thought process:(?:(?P<more>.*?)Here(?: is|'s) my response:)?"
    r"|<details type=\"reasoning\"[^>]*>(?:(?P<shown>.*?)</details>)?)",
    re.DOTALL,
)
"""A thought that begins a text in another form; without an end it was cut."""
_FIRST = re.compile(r"[{<\[◁&]")
_TOKEN = re.compile(rf"(?P<object>\{{)|{_TAG.pattern}")
_MENTION = re.compile(rf"[^<{{\n]*(?:{_CLOSE}|\Z)")
"""What follows an opening tag within a line that only mentions it."""
_QUOTES = frozenset("\"'`")

_CHANNELS = re.compile(
    r"\s*+(?:<\|start\|>\s*+assistant)?\s*+(?:<\|channel\|>\s*+)?"
    r"(?:analysis|commentary|final)\b[^<]*(?:<\|constrain\|>\s*+\w+\s*+)?<\|message\|>"
)
_FINAL = re.compile(
    r"(?:<\|channel\|>|\A)\s*+final\b[^<]*(?:<\|constrain\|>\s*+\w+\s*+)?<\|message\|>"
)
_BARE_CHANNELS = re.compile(
    r"\s*(?:analysis(?=[A-Z]).*assistant\s?final|assistantfinal)(?=\S)", re.DOTALL
)
"""The same where the server left the markers out and the names of the channels in."""
_BARE_ANALYSIS = re.compile(r"\s*analysis[A-Z][a-z']*,? [a-z]")

_START = re.compile(
    r"\s*(?:(?:<\|im_start\|>\s*assistant\b|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<start_of_turn>\s*model\b|<\|(?:assistant|START_RESPONSE|begin_of_solution|response|content"
    r"|START_OF_TURN_TOKEN|CHATBOT_TOKEN)\|>|<\|begin\|>\s*assistant\b|\[gMASK\]\s*<sop>"
    r"|<\|start\|>\s*assistant\s*<\|message\|>|<\uff5cAssistant\uff5c>|\[/INST\]|<\|turn>\s*model\b"
    r"|<bos>|<\|(?:begin_of_text|startoftext)\|>|<\uff5cbegin\u2581of\u2581sentence\uff5c>"
    rf"|(?:<s>\s*+)++(?!(?s:.)*</s>\s*\S)|<pad>|(?i:<{_NAMES}\s?/>))\s*)+"
)
_END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|eom_id|end_of_text|end|return|call|END_RESPONSE"
    r"|END_OF_TURN_TOKEN|end_of_solution|user|observation)\|>|<\uff5cend\u2581of\u2581sentence\uff5c>"
    r"|<end_of_turn>|<turn\|>|<(?:seed:)?eos>|<end_of_utterance>|</s>|\[/INST\]"
    r"|\[END FINAL RESPONSE\]|\[end of text\]|(?m:^data: ?\[DONE\])"
)
_ENDS = re.compile(rf"(?:(?:{_END.pattern})\s*+)++")
_AFTER_ENDS = re.compile(
    r"\Z|<\|(?:im_start|start_header_id|start|user|system|observation|begin_of_text)\|>"
    r"|<start_of_turn>|<\|turn>|<\uff5cUser\uff5c>|\[INST\]|<s>|(?:Human|User|Question):"
)
_LAST_TOKENS = re.compile(
    r"(?<![`\"'\s])\s*(?:(?:<\|\w{2,30}\|>|<\uff5c[\w\u2581]{2,30}\uff5c>|<(?:s|pad|eot|EOT)>"
    r"|\[\|\w{2,30}\|\]|\[(?:EOS|UNUSED_TOKEN_\d+)\])\s*)+\Z"
)
"""Tokens of a template at the very end, whatever the family."""
_NEXT_TURN = re.compile(
    r"(?<=[^ \t`\"'(])(?:(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|turn>)"
    r"\s*(?:user|system|tool)\b|<\|user\|>|<\uff5cUser\uff5c>|\[INST\])"
)
"""The beginning of somebody else's turn, which a model that was not stopped goes on with."""
_BOX = re.compile(r"<\|begin_of_box\|>((?s:.{0,4000}?))<\|end_of_box\|>(?![^\n]{0,4000}[\"'`])")
"""Marks around the answer, wherever it is in a text but in quotes."""
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class ReplyText:
    """A reply as it is read.

    Attributes:
        text: the answer.
        removed: what was left out, such as `THOUGHT`, each once.
        unfinished: whether it ended within a thought, so that there is no answer.
    """

    text: str
    removed: tuple[str, ...] = ()
    unfinished: bool = False


def read_text(reply: str) -> ReplyText:
    """Return the answer in a model's text.

    Whatever comes before the closing tag of a thought is no part of the answer, with or without an
    opening tag. A text without anything of the kind is returned unchanged.
    """
    text, removed, unfinished = reply, dict[str, None](), False
    while True:
        before = text
        for what, part in _PARTS.items():
            found = part(text)
            unfinished = unfinished or found is None
            text, old = found or "", text
            if text != old:
                removed[what] = None
        if text == before:
            return ReplyText(text, tuple(removed), unfinished)


def _plain(text: str) -> str:
    return without_controls(text.removeprefix("\ufeff"))


def _final_channel(text: str) -> str | None:
    """Return what the final channel holds; None where the text ends in another one."""
    bare = _BARE_CHANNELS.match(text)
    if bare:
        return text[bare.end() :]
    if _BARE_ANALYSIS.match(text):
        return None
    if not _CHANNELS.match(text):
        # The prompt held the opening marker.
        late = re.search(rf"(?<![`'\"]){_FINAL.pattern}", text)
        return text[late.end() :] if late else text
    ends = [found.end() for found in _FINAL.finditer(text)]
    return text[ends[-1] :] if ends else None


def _after_thoughts(text: str) -> str | None:
    """Return the last text outside thoughts; None where the text ends within one."""
    if prose := _IN_PROSE.match(text):
        cut = prose["more"] is None and prose["shown"] is None
        return None if cut else text[prose.end() :].lstrip()
    outside, at, inside = list[str](), 0, False
    for tag in _tags(text):
        if tag["open"]:
            if not inside:
                outside.append(text[at : tag.start()])
            inside = True
            continue
        if not inside:
            # The prompt held the opening tag, or another thought went before.
            outside.clear()
        at, inside = tag.end(), False
    if inside:
        return None
    if not at:
        return text
    outside.append(text[at:])
    return next((part for part in reversed(outside) if part.strip()), "").lstrip()


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Yield the tags of thoughts, without those in a JSON object and those that are mentioned."""
    at = 0 if _TAG_ENDS.search(text) else len(text)
    while first := _FIRST.search(text, at):
        at = first.end()
        token = _TOKEN.match(text, first.start())
        if token is None:
            continue
        at = token.end()
        if token["object"]:
            try:
                _, at = _DECODER.raw_decode(text, token.start())
            except (ValueError, RecursionError):
                continue
        elif _quoted(text, token):
            continue
        elif token["open"] and _within_line(text, token) and (of := _MENTION.match(text, at)):
            at = of.end()
        else:
            yield token


def _quoted(text: str, tag: re.Match[str]) -> bool:
    around = text[max(0, tag.start() - 1) : tag.start()], text[tag.end() : tag.end() + 1]
    return around[0] == around[1] and around[0] in _QUOTES


def _within_line(text: str, tag: re.Match[str]) -> bool:
    """Whether words come before a tag in its line."""
    line = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    return re.search(r"\w", line) is not None and _TAG.search(line) is None


def _without_start(text: str) -> str:
    found = _START.match(text)
    return text[found.end() :] if found else text


def _without_end(text: str) -> str:
    if text.rstrip().endswith((">", "]")) and (last := _LAST_TOKENS.search(text)):
        text = text[: last.start()]
    if turn := _NEXT_TURN.search(text):
        text = text[: turn.start()].rstrip()
    html = "<s>" in text
    for ends in _ENDS.finditer(text):
        if _AFTER_ENDS.match(text, ends.end()):
            for end in _END.finditer(text, ends.start(), ends.end()):
                if not (html and end[0] == "</s>"):
                    return text[: end.start()].rstrip()
    return text


def _unboxed(text: str) -> str:
    return _BOX.sub(r"\1", text)


_PARTS = {
    CONTROLS: _plain,
    TURN: _without_start,
    CHANNEL: _final_channel,
    THOUGHT: _after_thoughts,
    BOX: _unboxed,
    END_TOKEN: _without_end,
}
"""What is left out, in this order, and the reader of each."""
