"""The second wall: HTML is taken apart as browsers do, and only what is listed is written out."""

from __future__ import annotations

from functools import lru_cache

import nh3

from tracklight.media.markdown.code import CLASSES, LANGUAGES
from tracklight.media.markdown.links import is_web_address
from tracklight.media.markdown.tags import KNOWN_TAGS

#: Nothing that links, embeds, annotates or switches; HTML may stand in none of it but mtext.
_MATHS = frozenset(
    "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms"
    " mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none".split()
)
_MATHS_ATTRIBUTES = frozenset(
    "accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form"
    " height largeop linethickness lspace mathcolor mathvariant maxsize minsize movablelimits"
    " notation rowlines rowspacing rspace scriptlevel separator stretchy symmetric width".split()
)
_ATTRIBUTES = {
    "a": frozenset({"href", "title"}),
    "code": frozenset({"title"}),
    "ol": frozenset({"start"}),
    **dict.fromkeys(_MATHS, _MATHS_ATTRIBUTES),
}
_CLASSES = {
    "a": frozenset({"picture"}),
    "code": frozenset({"tex", *(f"language-{name}" for name in LANGUAGES)}),
    "li": frozenset({"task"}),
    "span": frozenset({"picture", *CLASSES}),
    # How columns of tables are aligned, which the parser says in a style.
    "td": frozenset({"left", "center", "right"}),
    "th": frozenset({"left", "center", "right"}),
}


def sanitise(html: str) -> str:
    """Safe HTML: no script, style, handler or id, and no address but those of links."""
    return _make_cleaner().clean(html)


@lru_cache(maxsize=1)
def _make_cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags={*KNOWN_TAGS, "s", *_MATHS},
        attributes={name: set(them) for name, them in _ATTRIBUTES.items()},
        attribute_filter=_filter,
        allowed_classes={name: set(them) for name, them in _CLASSES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        generic_attribute_prefixes=set(),
    )


def _filter(tag: str, name: str, value: str) -> str | None:
    return None if name == "href" and not is_web_address(value) else value
