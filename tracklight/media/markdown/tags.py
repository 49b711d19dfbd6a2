"""HTML that stands in a Markdown text: a few tags are rebuilt, all else is shown as it is.

Models speak of ``<unk>`` and ``<s>``, and what they say must not vanish because it looks like HTML.
So a tag passes only if it is one that people write into Markdown, and then without its attributes,
but for the address of a link.
"""

from __future__ import annotations

import re
from html import escape, unescape

from tracklight.media.markdown.links import is_web_address

KNOWN_TAGS = frozenset(
    "a abbr b blockquote br caption cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i"
    " ins kbd li mark ol p pre q samp small span strong sub summary sup table tbody td tfoot th"
    " thead tr u ul var".split()
)

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*)?)/?>")
_OPENING = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?=[\s/>]|$)|<!--")
_ADDRESS = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def opens_known_tag(line: str) -> bool:
    """Whether a line begins with a tag that is taken for HTML."""
    found = _OPENING.match(line)
    return found is not None and (found[1] is None or found[1].lower() in KNOWN_TAGS)


def rebuild_tags(html: str) -> str:
    """HTML in which every ``<`` is either a tag of those that are known or stands for itself."""
    html = _drop_comments(html)
    parts, done = [], 0
    for match in _TAG.finditer(html):
        if match[2].lower() in KNOWN_TAGS:
            parts += [_show(html[done : match.start()]), _rebuild(match)]
            done = match.end()
    return "".join([*parts, _show(html[done:])])


def _drop_comments(html: str) -> str:
    """Step by step, as one expression would look for the end of each of a thousand open ones."""
    parts = []
    while (start := html.find("<!--")) >= 0 and (stop := html.find("-->", start)) >= 0:
        parts.append(html[:start])
        html = html[stop + 3 :]
    return "".join([*parts, html])


def _show(text: str) -> str:
    """Words between tags; references to characters in them mean what they say."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _rebuild(match: re.Match[str]) -> str:
    closing, name, attributes = match[1], match[2].lower(), match[3]
    if name != "a" or closing:
        return f"<{closing}{name}>"
    found = _ADDRESS.search(attributes)
    address = unescape(found[1] or found[2] or found[3] or "").strip() if found else ""
    return f'<a href="{escape(address)}">' if is_web_address(address) else "<a>"
