"""Markdown is rendered to the expected HTML, and no text is lost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tracklight.analysis.media import render_markdown


def render(text: str) -> str:
    rendered = render_markdown(text)
    assert rendered.html is not None
    return rendered.html.strip()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title", "<h1>Title</h1>"),
        ("**a** *b* `c` ~~d~~", "<p><strong>a</strong> <em>b</em> <code>c</code> <s>d</s></p>"),
        ("a\nb", "<p>a\nb</p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("7. a", '<ol start="7">\n<li>a</li>\n</ol>'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("a<br>b<sub>c</sub>", "<p>a<br>b<sub>c</sub></p>"),
        ("<pre>\na  b\n\nc</pre>", "<pre>a  b\n\nc</pre>"),
        ("a <!-- hidden --> b", "<p>a  b</p>"),
        ("- [x] a\n- [ ] b", '<ul>\n<li class="task">☑ a</li>\n<li class="task">☐ b</li>\n</ul>'),
    ],
)
def test_markup(text: str, html: str) -> None:
    assert render(text) == html


def test_table_with_aligned_columns() -> None:
    html = render("| a | b | c |\n|:--|--:|:-:|\n| 1 | 2 | 3 |")
    assert '<th class="left">a</th>\n<th class="right">b</th>\n<th class="center">c</th>' in html
    assert '<td class="right">2</td>' in html


@pytest.mark.parametrize(
    "word", ["<unk>", "<s>", "</s>", "<pad>", "<|endoftext|>", "<mask>", "<eos>"]
)
def test_special_tokens_of_models_stay_visible(word: str) -> None:
    shown = word.replace("<", "&lt;").replace(">", "&gt;")
    assert render(f"the {word} cat") == f"<p>the {shown} cat</p>"
    assert render(word) == f"<p>{shown}</p>"
    assert render(f"{word}\nthe *cat*") == f"<p>{shown}\nthe <em>cat</em></p>"


LINK = 'target="_blank" rel="noopener noreferrer"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](https://b.test/)", f'<a href="https://b.test/" {LINK}>a</a>'),
        ("<https://b.test/>", f'<a href="https://b.test/" {LINK}>https://b.test/</a>'),
        ("https://b.test/x.", f'<a href="https://b.test/x" {LINK}>https://b.test/x</a>.'),
        ("(http://b.test/(x))", f'(<a href="http://b.test/(x)" {LINK}>http://b.test/(x)</a>)'),
        ("[a](mailto:a@b.test)", f'<a href="mailto:a@b.test" {LINK}>a</a>'),
        ("[a](docs/x.md)", f'<a title="docs/x.md" {LINK}>a</a>'),
        ("[http://b.test](http://c.test)", f'<a href="http://c.test" {LINK}>http://b.test</a>'),
        (
            "![a](https://b.test/c.png)",
            f'<a class="image" href="https://b.test/c.png" {LINK}>a</a>',
        ),
        ("![a](c.png)", '<span class="image">a</span>'),
        ("![](c.png)", '<span class="image">c.png</span>'),
    ],
)
def test_links_and_images(text: str, html: str) -> None:
    assert render(text) == f"<p>{html}</p>"


def test_code_is_highlighted_by_class() -> None:
    html = render("```python\ndef f():  # why\n    return 1\n```")
    assert html.startswith('<pre><code class="language-python"><span class="hl-keyword">def</span>')
    assert '<span class="hl-comment"># why</span>' in html
    assert "style" not in html


@pytest.mark.parametrize("info", ["", "klingon", "python-but-not"])
def test_code_in_unknown_language_is_not_highlighted(info: str) -> None:
    assert render(f"```{info}\n\n a<b\n\n```") == "<pre><code>\n a&lt;b\n\n</code></pre>"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("$x^2$", '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'),
        ("$$\nx\n$$", '<div><math display="block"><mrow><mi>x</mi></mrow></math></div>'),
        ("so $$x$$ there", '<math display="block"><mrow><mi>x</mi></mrow></math> there'),
        (r"\begin{align}a&=b\end{align}", "<mtable"),
        (r"$a<b$", "<mo>&lt;</mo>"),
        (r"$\aleph$ is 5", "<mi>ℵ</mi>"),
    ],
)
def test_formulas(text: str, part: str) -> None:
    assert part in render(text)


@pytest.mark.parametrize("text", ["$5 and $6", "from 5$ to 6$", "a $ b $ c", r"\$x\$", "US$1/US$2"])
def test_currency_is_not_math(text: str) -> None:
    assert "<math" not in render(text)


@pytest.mark.parametrize("tex", [r"\nonsense{x}", r"\frac", "x^2^3", r"\left(", r"\def\a{b}\a"])
def test_unsupported_tex_is_shown_as_source(tex: str) -> None:
    html = render(f"so ${tex}$ there")
    shown = tex.replace("<", "&lt;")
    assert html == f'<p>so <code class="tex" title="Unsupported TeX">{shown}</code> there</p>'


def test_deeply_nested_text_is_not_rendered() -> None:
    rendered = render_markdown(">" * 80 + " deep down")
    assert rendered.html is None, "the parser would drop the text"
    assert rendered.note is not None


def test_parser_is_imported_lazily() -> None:
    code = (
        "import sys, tracklight.server.app, tracklight.dashboards.text\n"
        "heavy = {'markdown_it', 'mdit_py_plugins', 'nh3', 'pygments', 'latex2mathml'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
