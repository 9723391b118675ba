"""The page in a real browser: it draws, its controls work, its numbers are those of `predict`, and names cannot run scripts."""

import base64
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.report import render
from sapwood.report.forest import pack_forest
from sapwood.report.subject import Subject
from tests.report.kinds import KINDS, ROUNDS, classes, mixed_table

ATTACK = "</script><img src=x onerror=\"document.title='attacked'\"><script>document.title='attacked'</script>"


@pytest.fixture(scope="module")
def binary_page():
    model, X, y, _ = classes(2)
    return model, X, render(model, X, y, reference=mixed_table(300, 5), sensitive="member", slice_by="color", title="Members")


def test_full_page_draws_everything(browser, binary_page):
    browser.open(binary_page[2])
    sections = browser.run("return [...document.querySelectorAll('main section[id]')].map(s => s.id)")
    assert sections == [
        *("scores", "data", "learning", "calibration", "errors", "importance", "shap", "dependence"),
        *("what-if", "trees", "slices", "fairness", "drift", "parameters", "card"),
    ]
    empty = browser.run(
        "return [...document.querySelectorAll('figure.chart')].filter(f => !f.querySelector('.plot svg')).map(f => f.dataset.chart)"
    )
    assert empty == []
    assert browser.driver.title == "Members"


@pytest.mark.parametrize(
    "kind", ["regression", "multiclass", "multilabel", "quantiles", "several outputs", "ranking", "cox", "one class", "init"]
)
def test_other_tasks_draw(browser, kind):
    model, X, y, rest = KINDS[kind]()
    browser.open(render(model, X, y, **rest))
    empty = browser.run(
        "return [...document.querySelectorAll('figure.chart')].filter(f => !f.querySelector('.plot svg')).map(f => f.dataset.chart)"
    )
    assert empty == []


def test_page_evaluates_trees_as_predict_does(browser, binary_page):
    browser.open(binary_page[2])
    rng = np.random.default_rng(3)
    for kind, make in KINDS.items():
        model, X, *_ = make()
        subject = Subject(model, X)
        rows = subject.values(np.arange(60))
        for column in range(rows.shape[1]):  # values that no row has together
            rows[20:, column] = rng.permutation(rows[20:, column])
        for column in range(rows.shape[1]):
            rows[-5:, column] = -1 if subject.model.schema.kind(column).is_category else np.nan
        packed = pack_forest(subject.model, rows)
        assert packed.complete and packed.exact
        columns = [column["number"] for column in packed.data["columns"]]
        values = [[None if value != value else value for value in row] for row in rows[:, columns].tolist()]
        script = (
            "const forest = new sapwood.Forest(arguments[0]);"
            "const raw = arguments[1].map(row => forest.raw(row.map(value => value === null ? NaN : value)));"
            "return raw.map(one => [Array.from(one), forest.predict(one)]);"
        )
        found = browser.run(script, packed.data, values)
        raw = subject.predict_raw(rows)
        np.testing.assert_allclose([one[0] for one in found], raw, rtol=1e-12, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(
            [one[1] for one in found], subject.model.apply_link(raw.copy(), subject.execution), rtol=1e-12, atol=1e-12
        )


def test_what_if_shows_the_prediction_of_changed_values(browser, binary_page):
    model, X, html = binary_page
    browser.open(html)
    assert shown(browser)["class 1"] == pytest.approx(model.predict_proba(X[:1])[0, 1], abs=1e-12)
    columns = browser.run("return sapwood.forest.columns.map(c => c.name)")
    changed = X[:1].copy()
    changed.loc[0, "size"], changed.loc[0, "color"] = 1.25, "red"
    box = browser.driver.find_element(By.ID, f"value-{columns.index('size')}")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("1.25")
    color = browser.driver.find_element(By.ID, f"value-{columns.index('color')}")
    color.send_keys("red")
    assert shown(browser)["class 1"] == pytest.approx(model.predict_proba(changed)[0, 1], abs=1e-12)
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(Keys.DELETE)
    changed.loc[0, "size"] = np.nan
    assert shown(browser)["class 1"] == pytest.approx(model.predict_proba(changed)[0, 1], abs=1e-12)
    assert "column" not in browser.run("return document.querySelector('[data-chart=what-if] figcaption').textContent").split(";")[0]
    row = browser.driver.find_element(By.CSS_SELECTOR, "#what-if-row select")
    row.send_keys("row 7")
    number = int(browser.run("return sapwood.data.sections['what-if'].numbers[document.querySelector('#what-if-row select').value]"))
    assert shown(browser)["class 1"] == pytest.approx(model.predict_proba(X[number : number + 1])[0, 1], abs=1e-12)


def shown(browser):
    """The predictions of "What if"."""
    pairs = browser.run("return [...document.querySelectorAll('.outcome')].map(o => [o.dataset.output, Number(o.dataset.value)])")
    return dict(pairs)


def test_controls_change_charts(browser, binary_page):
    browser.open(binary_page[2])

    def plot(name):
        return browser.run(
            "return document.getElementById(arguments[0]).textContent + document.getElementById(arguments[0]).innerHTML.length",
            f"plot-{name}",
        )

    for place, chart in (
        ("importance-control", "importance"),
        ("dependence-control", "shap-dependence"),
        ("pair-control", "pair"),
        ("slices-control", "slices"),
        ("drift-control", "drift"),
    ):
        before, select = plot(chart), browser.driver.find_element(By.CSS_SELECTOR, f"#{place} select")
        select.send_keys(Keys.ARROW_DOWN)
        assert plot(chart) != before, chart
    threshold = browser.driver.find_element(By.CSS_SELECTOR, "#threshold-control input")
    before = browser.driver.find_element(By.CSS_SELECTOR, "#threshold-control p").text
    threshold.send_keys(Keys.HOME)
    assert "recall 1," in browser.driver.find_element(By.CSS_SELECTOR, "#threshold-control p").text != before
    search = browser.driver.find_element(By.ID, "find-column")
    search.send_keys("tow")
    assert browser.run(
        "return [...document.querySelectorAll('#data tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
    ) == ["town"]
    browser.driver.find_element(By.CSS_SELECTOR, "[data-chart=importance] details.numbers summary").click()
    rows = "return document.querySelectorAll('[data-chart=importance] details.numbers tbody tr').length"
    WebDriverWait(browser.driver, 30).until(lambda _: browser.run(rows) > 3)  # browsers send toggle events some time after the click
    table = "return document.querySelector('[data-chart=importance] details.numbers tbody').textContent"
    before = browser.run(table)
    browser.driver.find_element(By.CSS_SELECTOR, "#importance-control select").send_keys(Keys.ARROW_UP)  # the table stays open
    WebDriverWait(browser.driver, 30).until(lambda _: browser.run(rows) > 3)
    assert browser.run(table) != before


def test_tree_explorer_by_keyboard(browser, binary_page):
    model, *_ = binary_page
    browser.open(binary_page[2])
    n = "return document.querySelectorAll('#plot-tree .node').length"
    assert browser.run(n) <= len(model.model_.trees[0].feature)
    before = browser.run(n)
    root = browser.driver.find_element(By.CSS_SELECTOR, "#plot-tree .node.inner")
    assert re.match(r"condition .+, 240 training rows, gain", root.get_attribute("aria-label"))
    root.send_keys(Keys.ENTER)
    assert browser.run(n) == 1 < before
    assert browser.run("return document.activeElement.getAttribute('aria-expanded')") == "false"
    browser.driver.find_element(By.CSS_SELECTOR, "#plot-tree .node.inner").send_keys(Keys.ENTER)
    assert browser.run(n) == before
    number = browser.driver.find_element(By.ID, "tree-number")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("999", Keys.ENTER)
    assert number.get_attribute("value") == str(model.model_.n_trees)
    path = "return [...document.querySelectorAll('#plot-tree .node.on')].length"
    assert browser.run(path) >= 2  # the row of "What if"


def test_hostile_names_run_no_script(browser):
    X = mixed_table(120).rename(columns={"size": ATTACK, "town": "{{constructor}}", "color": "a\0b\u2028</style>"})
    X["levels"] = np.where(np.arange(120) % 2, ATTACK, "<b>bold</b>")
    y = np.where(np.arange(120) % 2, ATTACK, "<svg onload=alert(1)>")
    model = BoostingClassifier(**ROUNDS).fit(X, y)
    html = render(model, X, y, title=ATTACK, reference=X, sensitive={ATTACK: y}, slice_by={"<i>": y}, notes={ATTACK: ATTACK})
    assert "<img" not in html and "onerror=" not in html.replace("onerror=&quot;", "")
    browser.open(html)
    assert browser.driver.title == ATTACK.strip()
    assert browser.run("return document.querySelectorAll('main img, main b, main i, main svg[onload]').length") == 0
    browser.run("""
    for (const select of document.querySelectorAll('main select')) {
      for (let i = 0; select.isConnected && i < select.options.length; ++i) {
        select.selectedIndex = i;
        select.dispatchEvent(new Event('change'));
      }
    }
    for (const details of document.querySelectorAll('details')) details.open = true;
    """)
    assert browser.driver.title == ATTACK.strip()
    assert browser.run("return document.scripts.length") == 2


def test_page_loads_nothing(browser, binary_page):
    html = binary_page[2]
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'\s>]+""", re.sub(r"<script>.*?</script>", "", html, flags=re.S))
    assert "default-src &#x27;none&#x27;" in html
    browser.open(html)
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_phone(browser, binary_page, dark):
    browser.open(binary_page[2], width=390, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    lightness = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert (browser.run(lightness) < 60) == dark
    browser.run("document.getElementById('theme').click()")
    assert (browser.run(lightness) < 60) != dark


def test_names_for_screen_readers(browser, binary_page):
    browser.open(binary_page[2])
    unnamed = """
    const labelled = e => e.labels?.length || e.getAttribute('aria-label');
    return [
      ...[...document.querySelectorAll('main select, main input')].filter(e => !labelled(e)),
      ...[...document.querySelectorAll('.plot svg[role=img]')].filter(e => !e.getAttribute('aria-label')),
      ...[...document.querySelectorAll('main table')].filter(e => !e.caption),
      ...[...document.querySelectorAll('main section[id]')].filter(e => !document.getElementById(e.getAttribute('aria-labelledby'))),
    ].map(e => e.outerHTML.slice(0, 200));
    """
    assert browser.run(unnamed) == []
    levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert browser.run("return document.documentElement.lang") == "en"
    body = browser.driver.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.textContent") == "Skip to the content"


def test_print(browser, binary_page):
    browser.open(binary_page[2], dark=True)
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_time_zones(browser, binary_page):
    browser.open(binary_page[2])
    moments = pd.date_range("2023-01-01", "2025-01-01", periods=200, tz="Europe/Berlin")
    X = pd.DataFrame({"at": moments, "x": np.arange(200.0)})
    model = BoostingRegressor(**ROUNDS, datetime_features=["hour", "weekday", "week"]).fit(
        X, np.asarray(moments.hour + moments.day_of_week)
    )
    subject = Subject(model, X)
    packed = pack_forest(subject.model, subject.values(np.arange(200)))
    values = subject.values(np.arange(200))[:, [column["number"] for column in packed.data["columns"]]].tolist()
    found = browser.run("const f = new sapwood.Forest(arguments[0]); return arguments[1].map(row => f.raw(row)[0])", packed.data, values)
    np.testing.assert_allclose(found, subject.raw[:, 0], rtol=1e-12)
