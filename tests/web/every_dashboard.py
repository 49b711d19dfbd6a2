"""All dashboards, for tests that hold for each of them.

The tests open them on `chinese_board`, which has data for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.web.chinese_log import BASELINE_CAPTURE
from tests.web.waiting import STABLE_MS

STORED_LANGUAGE = "tracklight.language"
CHINESE, ENGLISH, LONG_ENGLISH = "zh-CN", "en", "en-XA"

COUNT_REQUESTS = """
const send = fetch;
window.pendingRequests = 0;
window.fetch = async (...request) => {
    window.pendingRequests++;
    try {
        return await send(...request);
    } finally {
        window.pendingRequests--;
    }
};
"""
WAIT_UNTIL_STABLE = """async (main, pauseMs) => {
    const isBusy = () => window.pendingRequests > 0 || main.querySelector('[aria-busy=true]');
    for (let seen, again = main.innerText; again !== seen || isBusy(); again = main.innerText) {
        seen = again;
        await new Promise(done => setTimeout(() => requestAnimationFrame(done), pauseMs));
    }
}"""


@dataclass(frozen=True)
class Dashboard:
    """A dashboard and how to see most of it."""

    #: The name in the URL.
    tab: str
    #: CSS selector of content that is shown when the dashboard has loaded.
    content: str = "main article"
    #: URL parameters that show more of the dashboard.
    query: str = ""
    #: Selector of buttons that switch between views.
    views: str = ""
    #: Name of the test, if there are several for the dashboard.
    id: str = ""
    #: Whether a preference opens the settings panel.
    has_panel: bool = False
    #: Names in the log that are not Chinese, as a regular expression.
    names: str = "(?!)"

    def __str__(self) -> str:
        return self.id or self.tab

    def open(self, page: Page, address: str, language: str) -> None:
        """Open the dashboard in a language and wait until it has loaded."""
        stored = {STORED_LANGUAGE: language}
        if self.has_panel:
            stored[f"tracklight.{self.tab}-panel"] = "1"
        page.add_init_script(f"Object.assign(localStorage, {stored})")
        page.add_init_script(COUNT_REQUESTS)
        page.goto(f"{address}?tab={self.tab}{self.query}")
        self.wait(page)

    def wait(self, page: Page) -> None:
        expect(page.locator(self.content).first).to_be_visible()
        self.wait_until_stable(page)

    def wait_until_stable(self, page: Page) -> None:
        """Wait until no request is pending and the texts no longer change."""
        page.locator("main").evaluate(WAIT_UNTIL_STABLE, STABLE_MS)

    def iter_views(self, page: Page) -> Iterator[str]:
        """Open one view after another and yield its label; a dashboard without views is one."""
        if not self.views:
            yield self.tab
            return
        self.wait_until_stable(page)  # Narrow pages have fewer buttons.
        buttons = page.locator(self.views)
        for index in range(buttons.count()):
            button = buttons.nth(index)
            if button.get_attribute("aria-haspopup") == "menu":
                yield from self._iter_menu(page, button)
                continue
            if button.is_visible():
                button.click()
            else:  # a list on narrow screens
                page.locator("main .narrow select").first.select_option(index=index)
            expect(button).to_have_attribute("aria-pressed", "true")
            self.wait_until_stable(page)
            yield str(button.text_content()).strip()

    def _iter_menu(self, page: Page, button: Locator) -> Iterator[str]:
        """Open the views that have no button of their own, one after another."""
        button.click()
        count = page.get_by_role("menuitem").count()
        page.keyboard.press("Escape")
        for index in range(count):
            button.click()
            page.get_by_role("menuitem").nth(index).click()
            expect(button).to_have_attribute("aria-pressed", "true")
            self.wait_until_stable(page)
            yield str(button.text_content()).strip()


#: Names of tensors and operations, which programs choose.
OPERATIONS = "MatMul|Placeholder|ReadVariableOp|Read|Relu|Softmax|VarHandleOp|float32"
#: Names in a profile: identifiers with more than one part, and single words of the program.
PROFILED_NAMES = (
    r"/?\w+((::|[/_])\w*)+|\w*[a-z\d][A-Z]\w*|\bStream #\d+\(\w+\)|/(device|host):\w+(:\d)?"
    r"|void .*|bfloat16|key=value|Holistic Trace Analysis|SQL"
    r"|\b(train|python|Dataset|Shuffle|Prefetch|Root|Relu|Cast|Mean|Mul|copy|output)\b"
    # Tables, columns and types of queries.
    r"|\b(events?|steps?|ops?|kernels|counters|process|track|category|name|number|text|bool)\b"
    r"|(SELECT|FROM|WHERE|ORDER BY|LIMIT)\b.*"
)
#: Types of tensors and operations, frameworks, and functions called in a hint.
DEBUGGED_NAMES = (
    r"\b(softmax|log|torch|tensorflow|float32|Log|Sub|Placeholder|max|eps|dtype)\b"
    r"|__inference_?|tfdbg_events|graph_execution_traces|FULL_TENSOR"
)
#: Columns that What-If computes; they are used by name.
COMPUTED_COLUMNS = (
    r"score|predicted|correct|predictions(__probabilities)?|Jensen-Shannon|Kolmogorov-Smirnov|PSI"
    r"|\b(AUC|PR AUC)\b|Shapley|ICE|TensorFlow Serving|KServe"
)
#: The buttons of the first segmented control, which is in the toolbar.
FIRST_SEGMENTS = "main .segmented >> nth=0 >> button"

DASHBOARDS = [
    Dashboard("runs", "main [data-run]", names="state = running and lr"),
    Dashboard(
        "overview",
        "[role=table] [role=row]",
        names=r"__run_graph__|custom_scalars__config__|custom_scalars|_(FACE|VERTEX)|mesh|pr_curves"
        r"|_fairness|debugger(/\w+)?|health|histograms|layout|report|source_files",
    ),
    Dashboard("scalars", has_panel=True, names=r"loss\|acc"),
    Dashboard("custom_scalars"),
    Dashboard("workspaces"),
    Dashboard("images", "main article img", has_panel=True),
    Dashboard("audio", "main article [data-drawn]", has_panel=True),
    Dashboard("text", has_panel=True),
    Dashboard("histograms", has_panel=True),
    Dashboard("distributions", has_panel=True),
    Dashboard("pr_curves", query="&table=1", has_panel=True),
    Dashboard(
        "fairness",
        "main section li",
        views=FIRST_SEGMENTS,
        names=r"ROC|PR|Holm|Bonferroni|Benjamini-Hochberg|Model Analysis|write\(\)|data_path",
    ),
    Dashboard("mesh", "main article [data-drawn='1']", has_panel=True, names="float64"),
    Dashboard(
        "graphs",
        "[data-node]",
        "&node=输出",
        # The documentation of operators is that of the frameworks.
        names=f"{OPERATIONS}|dtype|/device:GPU:0|conv|op:|shape:|Computes softmax.*|logits",
    ),
    Dashboard("hparams", "[data-trial]", views=FIRST_SEGMENTS),
    Dashboard(
        "projector", "[data-drawn='1']", "&dimensions=2&point=0&search=词1&selected-points=3-5"
    ),
    Dashboard(
        "profile",
        "[data-tool] section",
        f"&p-baseline={BASELINE_CAPTURE}",
        views=FIRST_SEGMENTS,
        names=PROFILED_NAMES,
    ),
    Dashboard(
        "debugger",
        "main [role=table]",
        "&debugger-run=数值/发散&debugger-item=t2@12",
        views=FIRST_SEGMENTS,
        names=DEBUGGED_NAMES,
    ),
    Dashboard(
        "debugger",
        "main [role=table]",
        "&debugger-run=数值/损坏&debugger-item=g5",
        views=FIRST_SEGMENTS,
        id="debugger_dump",
        names=DEBUGGED_NAMES,
    ),
    Dashboard(
        "what_if",
        "[data-drawn='1']",
        "&wi-file=人口.csv&wi-file-label=标签&wi-row=1&wi-cf=1&wi-slice=职业",
        views=FIRST_SEGMENTS,
        names=COMPUTED_COLUMNS,
    ),
]
