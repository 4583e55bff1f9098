"""The page of studies: what is on it, and that it works in a real browser."""

import json
import os
import re
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from bers_studies.cli.report import studies
from bers_studies.report.claims import claims
from bers_studies.report.figures import QUICK
from bers_studies.report.markdown import to_html
from bers_studies.report.page import page
from bers_studies.report.server import serve
from bers_studies.report.svg import Chart, Line, draw, nice_ticks
from bers_studies.runner.journal import write_journal
from chromium import PROGRAM, Browser

from bers.errors import FileError

ROOT = Path(__file__).parent.parent.parent.parent
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
browser_needed = pytest.mark.skipif(
    PROGRAM is None, reason="Chromium is not installed: apt-get install chromium"
)


def study(folder, trials=3, *, methods=("BERS", HOSTILE, "None"), start=0):
    """Made-up journals of optimisation runs."""
    folder.mkdir(exist_ok=True)
    for seed in range(start, start + trials):
        rng = np.random.default_rng(seed)
        records = [
            {
                "panel": panel,
                "method": method,
                "best": (10 * np.exp(-np.arange(31) / (5 + 5 * i)) * rng.uniform(1, 2)).tolist(),
                **(
                    {"weights": rng.dirichlet(np.ones(3), 31).tolist(), "weights_at": [*range(31)]}
                    if method != "None"
                    else {}
                ),
            }
            for panel in ("Ackley", "Sphere <i>")
            for i, method in enumerate(methods)
        ]
        header = {"seed": seed, "code": "c0de", "provenance": {"command": ["bers", HOSTILE]}}
        write_journal(folder / f"trial-{seed:04d}.jsonl", header, records)
    (folder / "tables.md").write_text(f"**Bold** {HOSTILE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    return folder


def latent(folder):
    """A study of heads that move."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    means = rng.normal(size=(21, 4, 3)).cumsum(axis=0)
    wide = np.tile(0.1 * np.eye(2), (5, 4, 1, 1))
    records = [{"panel": "Ackley", "means": means.tolist(), "covariances": wide.tolist()}]
    write_journal(folder / "trial-0000.jsonl", {"seed": 0}, records)
    return folder


class Elements(HTMLParser):
    """Counts of elements, and every text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("page")
    text = page([study(root / "static-like"), latent(root / "latent")], title="A & B")
    (root / "report.html").write_text(text, encoding="utf-8")
    return root / "report.html"


def test_everything_is_on_the_page(made):
    found = Elements(made.read_text())
    assert found.tags.count("svg") == 2 * (2 + 2) + 1  # curves and weights, each in a frame; heads
    assert found.tags.count("fieldset") >= 4
    assert found.tags.count("script") == 3  # numbers of two groups, and the page's own
    text = " ".join(found.texts)
    assert "A & B" in text
    assert "3 trials" in text
    assert "c0de" in text
    assert HOSTILE in text
    assert "How the heads' means move with two features." in text


def test_a_quick_look_is_marked_and_claims_nothing(tmp_path):
    root = ROOT / "reproductions" / "nobody"
    shutil.copytree(root, tmp_path / "nobody")
    assert "What we say" in page([tmp_path / "nobody"])
    assert len(claims(tmp_path)) == 3
    (tmp_path / "nobody" / QUICK).touch()
    made = page([tmp_path / "nobody"])
    assert "What we say" not in made
    assert "quick look" in made
    with pytest.raises(FileError, match="no folder of a study with claims"):
        claims(tmp_path)


def test_studies_in_a_folder_come_in_their_order(tmp_path):
    for name in ("a", "growth", "static", "supply"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    found = studies([tmp_path])
    assert [folder.name for folder in found] == ["static", "growth", "supply", "a"]


def test_nothing_comes_from_elsewhere(made):
    found = Elements(made.read_text())
    links = [value for name, value in found.attributes if name in ("src", "href")]
    assert links
    assert all(link.startswith(("#", "data:image/png")) for link in links)
    assert "http-equiv" in dict(found.attributes)
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert "img" not in found.tags


def test_the_numbers_are_the_journals(made):
    found = re.search(r'class="numbers">(.*?)</script>', made.read_text(), re.DOTALL)
    numbers = json.loads(found.group(1))[0]
    best = [
        [10 * np.random.default_rng(seed).uniform(1, 2)] for seed in range(3)
    ]  # the first draw belongs to the first method
    assert numbers["x"] == list(range(31))
    expected = 10 ** np.mean(np.log10(best))
    assert numbers["y"]["mean"]["0"][0] == pytest.approx(expected, rel=1e-3)
    middle = 10 ** np.mean(np.log10(np.sort(best, axis=0)[0:3]))
    assert numbers["y"]["iqm"]["0"][0] == pytest.approx(middle, rel=1e-3)


def test_a_folder_with_nothing_is_refused(tmp_path):
    with pytest.raises(FileError, match="Give a folder that `reproduce` made"):
        page([tmp_path])


def test_lines_lie_where_their_numbers_say():
    line = Line("one", 0, np.array([0.0, 5.0, 10.0]))
    drawing = draw(Chart("t", np.array([0.0, 1.0, 2.0]), {"": [line]}, y_range=(0.0, 10.0)))
    path = re.search(r'class="line" d="M([^"]+)"', drawing).group(1)
    points = np.array([[float(v) for v in pair.split(",")] for pair in path.split("L")])
    np.testing.assert_allclose(points, [[72, 238], [247, 125], [422, 12]], atol=0.05)


def test_a_line_with_gaps_and_no_band_is_drawn():
    y = np.array([np.nan, 1.0, np.inf])
    drawing = draw(Chart("t", np.arange(3.0), {"": [Line("one", 0, y, y, y)]}))
    assert "nan" not in drawing
    assert "inf" not in drawing


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-3000, 2500, [-2000, 0, 2000]), (3, 3, [3])],
)
def test_ticks_are_round(low, high, expected):
    assert nice_ticks(low, high) == pytest.approx(expected)


def test_tables_are_read_with_headings_and_code():
    made = to_html("# Head\n\none\ntwo **three** `<b>`\n\n| x |\n|---|\n| <td> |")
    assert "<h4>Head</h4>" in made
    assert "<p>one two <strong>three</strong> <code>&lt;b&gt;</code></p>" in made
    assert "<td>&lt;td&gt;</td>" in made


@browser_needed
def test_controls_work_in_a_browser(made, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(made.as_uri())
        shown = "getComputedStyle(document.querySelector('{}')).display"
        assert browser.evaluate(shown.format(".s-mean")) != "none"
        assert browser.evaluate(shown.format(".s-iqm")) == "none"
        browser.evaluate("document.querySelector('.pick-iqm').click()")
        assert browser.evaluate(shown.format(".s-mean")) == "none"
        assert browser.evaluate(shown.format(".s-iqm")) != "none"
        assert browser.evaluate(shown.format("svg .s-iqm .m1")) != "none"
        browser.evaluate("document.querySelector('.pick-1').click()")
        assert browser.evaluate(shown.format("svg .s-iqm .m1")) == "none"
        browser.evaluate("document.querySelector('.at-0').click()")
        assert browser.evaluate(shown.format("figure.t0")) == "none"
        assert browser.evaluate(shown.format("figure.t1")) != "none"
        browser.evaluate(
            "(() => { const s = document.querySelector('figure.t1 svg');"
            " const b = s.getBoundingClientRect();"
            " s.dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + b.width})); })()"
        )
        told = browser.evaluate("document.querySelector('figure.t1 .told').textContent")
        assert told.startswith("30: BERS ")
        assert "img" not in told  # that method is hidden
        browser.evaluate(
            "(() => { const i = document.querySelector('.slider input'); i.value = 0;"
            " i.dispatchEvent(new Event('input')); })()"
        )
        assert browser.evaluate("document.querySelector('.slider output').textContent") == (
            "generation 0"
        )
        assert browser.evaluate("document.querySelectorAll('.frame.now').length") == 1
        assert browser.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
        assert browser.said == []


@browser_needed
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_a_phone_and_the_dark(made, tmp_path, dark):
    with Browser(tmp_path / "profile") as browser:
        browser.open(made.as_uri(), width=390, height=800, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 20, 22)" if dark else "rgb(255, 255, 255)")
        assert browser.said == []


@browser_needed
def test_a_watched_run_shows_news_by_itself(tmp_path):
    folder = study(tmp_path / "run", 2)
    with serve([folder]) as server, Browser(tmp_path / "profile") as browser:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        facts = "document.querySelector('.facts').textContent"
        assert browser.evaluate(facts) == "2 trials"
        browser.evaluate("document.querySelector('.pick-iqm').click()")
        browser.wait_for("document.body.dataset.version !== undefined")
        study(folder, 1, start=2)
        browser.wait_for(f"{facts} === '3 trials'")
        assert browser.evaluate("document.querySelector('.pick-iqm').checked")
        assert browser.said == []
        server.shutdown()


def test_the_server_gives_the_page_to_this_machine_only(tmp_path):
    import http.client

    folder = study(tmp_path / "run", 2)
    with serve([folder]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert server.server_address[0] == "127.0.0.1"

        def get(path, host="127.0.0.1:1"):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        status, live = get("/")
        assert status == 200
        finished = page([folder])
        assert live.replace(" data-live", "").replace("; connect-src 'self'", "") == finished
        version = get("/version")[1]
        assert get("/version")[1] == version
        os.utime(folder / "tables.md", (1, 1))
        assert get("/version")[1] != version
        assert get("/trial-0000.jsonl")[0] == 404
        assert get("/../report.html")[0] == 404
        assert get("/", host="evil.example")[0] == 403
        (folder / "trial-0000.jsonl").write_text("damaged\n")
        status, told = get("/")
        assert status == 200
        assert "damaged" in told
        server.shutdown()


def test_the_page_of_stored_studies_is_small():
    root = ROOT / "reproductions"
    made = page(studies([root]))
    assert 1e6 < len(made.encode()) < 15e6
