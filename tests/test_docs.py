"""Everything that the documents and examples show is run."""

import doctest
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
STORIES = ("agent_with_logs", "minimise_with_past_runs", "whom_to_trust")


@pytest.fixture(scope="module")
def every_claim():
    from bers_studies.report.claims import claims

    return claims(ROOT / "reproductions")


def _weights(ranking):
    found = re.findall(r"^(alice|bob|carol|nobody) +([\d.]+)", ranking, re.M)
    return {name[0]: float(weight) for name, weight in found}


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__page__"}
    for i, block in enumerate(_blocks(page, "python")):
        exec(compile(block, f"{page.name}, block {i + 1}", "exec"), names)
    if page.name == "README.md":  # the ranking that it explains is what its code prints
        printed, home = capsys.readouterr().out, (ROOT / "docs" / "index.md").read_text()
        for text in (page.read_text(), home):
            shown = text[text.index("Sources for 'dana'") :].split("```")[0]
            assert _weights(shown).keys() == _weights(printed).keys() == {*"abcn"}
            for initial, weight in _weights(shown).items():
                assert weight == pytest.approx(_weights(printed)[initial], abs=0.03)
            assert "Answer: alice." in shown
            assert "Answer: alice." in printed


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUDGET", "0.1")
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(example), run_name="__main__")
    if example.stem in STORIES:  # it ends in a picture, with something in it
        import matplotlib.pyplot as plt

        plt.close("all")
        drawn = plt.imread(f"{example.stem}.png")
        assert drawn.shape[1] >= 800
        assert 0.01 < (drawn[..., :3].min(axis=-1) < 0.9).mean() < 0.5


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_a_notebook_as_a_script(name):
    cells = (ROOT / "examples" / f"{name}.py").read_text().split("\n# %%")
    told = [cell for cell in cells if cell.removeprefix("# %%").startswith(" [markdown]")]
    assert cells[0].startswith("# %% [markdown]\n# # ")
    assert len(told) >= 4 <= len(cells) - len(told)
    for cell in told:
        assert all(not line or line.startswith("#") for line in cell.splitlines()[1:])
    assert "savefig(" in cells[-1]


def test_there_are_pages_and_examples():
    assert len(PAGES) >= 6
    assert EXAMPLES
    assert sum(len(_blocks(page, "python")) for page in PAGES) >= 5


def test_links_between_pages_resolve():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_opens_with_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < 1500


def test_make_knows_the_promised_targets():
    make = shutil.which("make")
    for target in ("venv", "demo", "test", "lint", "bench", "reproduce", "docs"):
        subprocess.run([make, "-n", target], cwd=ROOT, check=True, capture_output=True)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")  # it builds beside its settings
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for name in ("bers", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        env={**os.environ, "PYTHONPATH": "docs"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    for page in (ROOT / "docs").rglob("*.md"):
        at = site / page.relative_to(ROOT / "docs").with_suffix("")
        assert (at.parent if at.name == "index" else at) / "index.html" in pages, page
    loaded = re.compile(r"""(?:src=|<link[^>]* href=|@import |url\()["']?(?:https?:)?//""")
    for path, text in pages.items():
        assert not loaded.search(text), path
    assert not loaded.search((site / "site.css").read_text())
    # equations are drawn, and docstrings are on the pages of the API, their examples as code
    method = pages[site / "method" / "index.html"]
    assert method.count('<div class="math"><svg') == (ROOT / "docs/method.md").read_text().count(
        "```math"
    )
    api = pages[site / "api" / "index.html"]
    assert "Which of the sources the target should learn from" in api
    assert "<blockquote>" not in api
    import bers

    for name in bers.__all__:
        assert re.search(rf'<h3 id="bers\.[a-z_.]+\.{name}"', api), name
    # names can be searched for, other sites can link to them, and equations are linked to
    found = {item["title"] for item in json.loads((site / "search.json").read_text())["items"]}
    assert {"rank", "minimize", "The method on one page"} <= found
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    assert re.search(r"^bers\.trust\.trust\.Trust py:class 1 api/", inventory, re.M)
    assert 'href="../../equations/#eq-odds">[Eq. odds]' in pages[site / "api/trust/index.html"]


def test_examples_of_what_builds_the_site_run():
    where = spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = module_from_spec(where)
    where.loader.exec_module(hooks)
    failed, run = doctest.testmod(hooks)
    assert (failed, run) == (0, 3)
    drawn = hooks.equation(r"\dfrac{a}{b} < c")
    assert 'aria-label="\\dfrac{a}{b} &lt; c"' in drawn
    assert not re.search(r"<style|#ffffff|\n", drawn)  # the page's own colours, in one line


def test_every_page_is_in_the_navigation():
    listed = re.findall(
        r"^ +- (?:.*: )?([a-z0-9_/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M
    )
    docs = ROOT / "docs"
    assert sorted(listed) == sorted(str(p.relative_to(docs)) for p in docs.rglob("*.md"))


def test_the_page_of_reproductions_shows_the_stored_pictures(every_claim):
    from bers_studies.study import studies

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "reproductions.md").read_text()
    for figure in range(1, 8):  # of the paper
        assert f"## Figure {figure}: " in page
    for study in re.findall(r"bers-studies reproduce ([a-z][a-z-]+)", page):
        assert study in studies()
    have = {path.parent.name for path in stored.glob("*/*.jsonl")}
    assert set(re.findall(r"`reproductions/([a-z-]+)`", page)) == have
    drawn = {name: study.name for study in studies().values() for name in study.figures}
    shown = re.findall(r"\]\(([a-z-]+\.png)\)", page)
    assert len(shown) == 7
    for picture in shown:
        name = picture.removeprefix("supply-")
        original = stored / drawn[name] / name
        assert (ROOT / "docs" / picture).read_bytes() == original.read_bytes()
    found = {claim.id: claim.holds for claim in every_claim}  # what the page says in words
    fails = [name for name, holds in found.items() if name.endswith("-default") and not holds]
    assert fails == ["smooth-default"]
    assert not found["favours-sphere-paper"]
    assert not found["latent-converges"]
    assert not found["supply-equal-weights-bers"]
    assert all(found[f"supply-finds-{truth}-bers"] for truth in (1, 2, 3))
    assert all(found[f"supply-per-favours-{truth}"] for truth in (1, 2, 3))


def test_changelog_has_this_version():
    import bers

    assert re.search(
        rf"^## \[{re.escape(bers.__version__)}\]", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def test_the_page_of_heads_shows_the_stored_results():
    from bers_studies.heads.tables import heads_tables
    from bers_studies.report.curves import read_runs

    stored = ROOT / "reproductions" / "heads"
    records = read_runs(stored).records
    assert heads_tables(records) == (stored / "tables.md").read_text()
    page = ROOT / "docs" / "heads.md"
    assert heads_tables(records).strip() in page.read_text()
    drawn = ROOT / "docs" / "heads-calibration.png"
    assert drawn.read_bytes() == (stored / "calibration.png").read_bytes()
    # what the page says in words
    sources = [r for r in records if r["kind"] == "source"]
    assert min(r["r2"] for r in sources if r["setting"] != "paper, rate 1e-3") >= 0.98
    assert sum(r["r2"] < 0.98 for r in sources) == 1
    assert min(r["r2"] for r in sources) >= 0.97
    later = [r for r in records if r["kind"] == "target" and r["head"] != "Rastrigin"]
    assert min(r["r2"] for r in later) >= 0.98


def test_the_page_of_weights_shows_the_stored_results():
    from bers_studies.grunfeld.tables import grunfeld_tables
    from bers_studies.nobody.tables import nobody_table
    from bers_studies.orders.tables import orders_table
    from bers_studies.reliability.tables import reliability_tables
    from bers_studies.report.curves import read_runs
    from bers_studies.trust.tables import mean_on_the_right, trust_tables

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "weights.md").read_text()
    tables = {
        "reliability": reliability_tables,
        "orders": orders_table,
        "trust": trust_tables,
        "nobody": nobody_table,
        "grunfeld": grunfeld_tables,
    }
    records = {name: read_runs(stored / name).records for name in tables}
    for name, make in tables.items():
        assert make(records[name]) == (stored / name / "tables.md").read_text()
        assert make(records[name]).strip() in page
    for picture, study in (("weights.png", "trust"), ("reliability.png", "reliability")):
        drawn = ROOT / "docs" / picture
        assert drawn.read_bytes() == (stored / study / picture).read_bytes()
    # what the page says in words
    said = {
        "Rosenbrock": (0.94, 16),
        "Ackley": (0.90, 28),
        "Sphere": (1.00, 1),
        "Rastrigin": (0.98, 4),
    }
    for target in said:
        chosen = [r for r in records["trust"] if (r["target"], r["rule"]) == (target, "odds")]
        assert len({r["seed"] for r in chosen}) == 10
        means = mean_on_the_right(chosen)
        later = [weight for g, weight in means.items() if g >= 5]
        average, since = said[target]
        assert round(sum(later) / len(later), 2) == average, target
        assert all((w >= 0.9) == (g >= since) for g, w in means.items()), target
    paper = [r for r in records["trust"] if (r["target"], r["rule"]) == ("Rastrigin", "weights")]
    assert max(mean_on_the_right(paper).values()) < 0.5
    nobody = [r["nobody"] for r in records["nobody"] if r["rule"] == "odds"]
    assert sum(nobody) / len(nobody) >= 0.9
    for years in ("every other", "first ten"):
        chosen = [r for r in records["grunfeld"] if (r["years"], r["rule"]) == (years, "odds")]
        assert sum(r["error"] < r["equal"] for r in chosen) >= 8, years


def test_the_page_of_robustness_shows_the_stored_results():
    from bers_studies.misled.tables import tables

    stored = ROOT / "reproductions" / "misled"
    assert tables(stored) == (stored / "tables.md").read_text()
    assert tables(stored).strip() in (ROOT / "docs" / "robustness.md").read_text()


def test_the_page_of_past_runs_shows_the_stored_results(every_claim):
    from bers_studies.study import study_named

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "static.md").read_text()
    for study in ("static", "safety", "growth", "options", "paper-metric"):
        tables = study_named(study).tables(stored / study)
        assert tables == (stored / study / "tables.md").read_text()
        assert tables.strip() in page
    drawn = {"functions.png": "static", "more-methods.png": "static", "latent.png": "latent"}
    for picture, study in drawn.items():
        assert (ROOT / "docs" / picture).read_bytes() == (stored / study / picture).read_bytes()
    # what the page says in words
    found = {claim.id: claim for claim in every_claim}
    assert all(claim.trials == 20 for claim in found.values() if claim.journal.endswith("static"))
    for target in ("rosenbrock", "ackley", "sphere", "rastrigin"):
        assert found[f"best-expert-{target}"].holds
        assert found[f"ahead-of-ucb-{target}"].holds
    assert not found["favours-sphere-paper"].holds
    assert found["favours-sphere-default"].holds
    assert all(claim.holds for name, claim in found.items() if name.startswith("safe-"))
    assert found["growth"].holds
    assert not found["favours-sphere-tried"].holds


def test_the_page_of_the_supply_chain_shows_the_stored_results(every_claim):
    from bers_studies.study import study_named

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "supply.md").read_text()
    for study in ("supply", "supply-options", "supply-flows", "supply-again"):
        if not (stored / study / "tables.md").exists():
            pytest.skip(f"reproductions/{study} is not complete")
        tables = study_named(study).tables(stored / study)
        assert tables == (stored / study / "tables.md").read_text()
        assert tables.strip() in page
    for picture in study_named("supply").figures:
        drawn = (stored / "supply" / picture).read_bytes()
        alone = picture in ("scenarios.png", "actor.png")  # drawn without journals
        name = picture if alone else f"supply-{picture}"
        assert (ROOT / "docs" / name).read_bytes() == drawn
    every = [claim for claim in every_claim if claim.id.startswith("supply-")]
    assert all(claim.trials >= 5 for claim in every)


def test_the_page_of_readings_shows_the_stored_results(every_claim):
    from bers_studies.study import study_named

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "readings.md").read_text()
    for study in ("paper-weights", "paper-readings", "paper-best", "paper-functions"):
        tables = study_named(study).tables(stored / study)
        assert tables == (stored / study / "tables.md").read_text()
        assert tables.strip() in page
    read = {claim.id: claim.best for claim in every_claim if claim.best is not None}
    # what the page says in words
    assert all(read[f"supply-finds-{truth}-paper"].holds for truth in (1, 2, 3))
    assert all(read[f"supply-jump-start-{truth}-paper"].holds for truth in (1, 2, 3))
    assert all(read[f"supply-best-expert-{truth}-paper"].holds for truth in (1, 2, 3))
    assert [read[f"supply-ahead-ppr-{truth}-paper"].holds for truth in (1, 2, 3)] == [
        True, False, True
    ]  # fmt: skip
    assert read["supply-equal-weights-paper"].holds
    for lost in ("best-expert-target", "ahead-s1-target", "ahead-s2-target"):
        assert not read[f"supply-{lost}-paper"].holds
    assert read["demonstration-sizes"].holds


def test_the_page_of_the_reacher_shows_the_stored_results(every_claim):
    from bers_studies.reacher.tables import tables as reacher_tables
    from bers_studies.report.curves import read_runs

    stored, page = ROOT / "reproductions", (ROOT / "docs" / "reacher.md").read_text()
    tables = reacher_tables(stored / "reacher")
    assert tables == (stored / "reacher" / "tables.md").read_text()
    assert tables.strip() in page
    for study, picture in (("reacher", "reacher.png"), ("reacher-map", "map.png")):
        kept = stored / study / picture
        assert (ROOT / "docs" / picture).read_bytes() == kept.read_bytes()
    every = [claim for claim in every_claim if claim.id.startswith("reacher-")]
    assert all(claim.trials >= 5 for claim in every)
    assert not any(claim.holds for claim in every if claim.said_by == "paper")
    assert all(claim.holds for claim in every if claim.said_by == "BERS")
    (record,) = read_runs(stored / "reacher-map").records
    odds = np.array(record["weights_at"]["odds"])
    assert odds.shape == (100, 4)
    assert (odds.sum(axis=1) > 0.99).all()  # nobody has no share
    away = np.linalg.norm(np.array(record["goals"])[:, None] - np.array(record["wants"]), axis=2)
    assert (odds.argmax(axis=1) == away.argmin(axis=1)).mean() > 0.9


def test_the_page_of_optuna_shows_the_stored_results():
    from bers_studies.report.curves import read_runs
    from bers_studies.tuning.tables import gaps, share
    from bers_studies.tuning.tables import tables as tuning_tables

    stored, page = ROOT / "reproductions" / "tuning", (ROOT / "docs" / "optuna.md").read_text()
    tables = tuning_tables(stored)
    assert tables == (stored / "tables.md").read_text()
    assert tables.strip() in page
    runs = read_runs(stored)  # what the page says in words
    assert runs.trials >= 20
    saved = {family: share(runs, family, "BERS")[0] for family in runs.values("panel")}
    assert 0.3 < saved["kernel ridge"] < 0.4
    assert 0.35 < saved["support vectors"] < 0.45
    assert 0.75 < saved["boosting"] < 0.85
    assert all(0.9 < part < 1.0 for name, part in saved.items() if name.endswith("other data"))
    assert all(gaps(runs, family, "BERS, turned").mean() < 1 for family in saved)
    assert 0.5 < gaps(runs, "boosting", "BERS, mirrored").mean() < 1
    assert 1.5 < gaps(runs, "kernel ridge", "BERS, mirrored").mean() < 2.5


def test_the_page_of_agents_shows_whom_they_follow():
    from bers_studies.agents.tables import tables
    from bers_studies.report.curves import read_runs

    page = (ROOT / "docs" / "sb3.md").read_text()
    for study in ("track", "mujoco"):
        stored = ROOT / "reproductions" / study
        made = tables(stored)
        assert made == (stored / "tables.md").read_text()
        assert made.strip() in page
        for record in read_runs(stored).records:
            assert len(record["returns"]) == len(record["at"])
    kept = ROOT / "reproductions" / "mujoco" / "mujoco.png"
    assert (ROOT / "docs" / "mujoco.png").read_bytes() == kept.read_bytes()


def test_the_page_of_agents_shows_the_stored_results():
    from bers_studies.agents.tables import tables as agents_tables
    from bers_studies.report.curves import read_runs

    stored, page = ROOT / "reproductions" / "agents", (ROOT / "docs" / "sb3.md").read_text()
    tables = agents_tables(stored)
    assert tables == (stored / "tables.md").read_text()
    assert tables.strip() in page
    picture = (stored / "agents.png").read_bytes()
    assert (ROOT / "docs" / "agents.png").read_bytes() == picture
    runs = read_runs(stored)  # what the page says in words
    assert runs.trials >= 5
    over_all = {
        (task, method): runs.array("returns", task=task, method=method).mean()
        for task in runs.values("task")
        for method in ("BERS", "equal", "None")
    }
    for task in runs.values("task"):
        ours, equal, none = (over_all[task, method] for method in ("BERS", "equal", "None"))
        assert ours > equal
        assert ours > none - 0.05 * abs(none) if task.endswith("mislead") else ours > none
    for task in ("supply chain, SAC", "supply chain, TD3"):
        single = runs.array("returns", task=task, method="best source alone")
        assert over_all[task, "BERS"] > single.mean()
