"""A person's own run as one file: what is in it, what is not, and that names stay text."""

import re

import numpy as np
import pytest

import bers
from bers.errors import ConfigError
from bers.html import bars, curve

SMALL = bers.ModelConfig(hidden=(8,), latent_dim=4, batches=20)
HOSTILE = "<script>alert(1)</script>"


def past(at, rows=30, seed=0):
    x = np.random.default_rng(seed).uniform(-2, 2, (rows, 2))
    return x, np.sum((x - at) ** 2, axis=1)


def sphere(x):
    return float(np.sum((x - 0.5) ** 2))


def written(run, folder, **more):
    bers.save_page(run, folder / "run.html", **more)
    page = (folder / "run.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "color-scheme: light dark" in page
    assert not re.search(r"<script|https?://(?!www.w3.org)|src=", page)
    return page


def test_a_search(tmp_path):
    sources = {"near": past(0.5), HOSTILE: past(-1.5, seed=1)}
    result = bers.minimize(
        sphere, [(-2, 2)] * 2, sources=sources, rng=0, maxfun=40, model=SMALL
    )  # fmt: skip
    page = written(result, tmp_path)
    assert f"Best value <b>{result.fun:.6g}</b> after 40 evaluations" in page
    assert "<h2>Whom it trusted</h2>" in page
    assert "90% interval" in page  # the ranking's table
    assert "<tr><td>near</td><td>1</td></tr>" in page
    assert page.count('class="line"') == 1
    assert "&lt;script&gt;" in page
    assert "<h1>my search</h1>" in written(result, tmp_path, title="my search")


def test_a_search_without_past_runs_and_an_optimizer(tmp_path):
    result = bers.minimize(sphere, [(-2, 2)] * 2, rng=0, maxfun=20)
    assert "No past run was given." in written(result, tmp_path)
    optimizer = bers.Optimizer([(-2, 2)] * 2, {"a": past(0.5)}, rng=0, model=SMALL)
    for _ in range(4):
        points = optimizer.ask()
        optimizer.tell(points, [sphere(p) for p in points])
    page = written(optimizer, tmp_path)
    assert f"after {optimizer.result().nfev} evaluations" in page
    assert "Whom it trusted" in page


def test_a_study(tmp_path):
    optuna = pytest.importorskip("optuna")
    from bers.integrations.optuna import BersSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        return (trial.suggest_float("x", -2, 2) - 0.5) ** 2

    earlier = optuna.create_study(study_name="earlier", direction="minimize")
    earlier.optimize(objective, n_trials=12)
    study = optuna.create_study(sampler=BersSampler([earlier], seed=0))
    study.optimize(objective, n_trials=6)
    page = written(study, tmp_path)
    assert f"Best value <b>{study.best_value:.6g}</b> after 6 trials." in page
    assert "earlier" in page
    assert "<h2>Who was used</h2>" in page


def test_an_agent(tmp_path):
    sb3 = pytest.importorskip("stable_baselines3")
    import gymnasium

    from bers.integrations.sb3 import BersCallback, BersReplayBuffer, from_replay_buffer

    def learner(**more):
        how = {"policy_kwargs": {"net_arch": [8]}, "learning_starts": 20, "batch_size": 16}
        return sb3.SAC("MlpPolicy", gymnasium.make("Pendulum-v1"), seed=0, **how, **more)

    log = from_replay_buffer(learner().learn(60).replay_buffer, name="monday")
    callback = BersCallback(model=SMALL, every=40)
    with pytest.raises(ConfigError, match="has not learned yet: give it to learn"):
        bers.save_page(callback, tmp_path / "run.html")
    agent = learner(replay_buffer_class=BersReplayBuffer, replay_buffer_kwargs={"sources": [log]})
    agent.learn(220, callback=callback)
    page = written(callback, tmp_path)
    assert "220 steps" in page
    assert f"<tr><td>monday</td><td>{agent.replay_buffer.drawn[0]:,}</td></tr>" in page
    assert "Return" in page


def test_a_ranking_and_a_trust(tmp_path):
    trust = bers.Trust({"a": past(0.5), "b": past(-1.5)}, model=SMALL).observe(past(0.5, 20, 3))
    page = written(trust, tmp_path)
    assert page.count('<span class="rail">') == 3
    assert '<i class="rest"' in page
    assert page.split("<body>")[1] == written(trust.ranking(), tmp_path).split("<body>")[1]


@pytest.mark.parametrize("run", [None, 3, {}, "run", [1.0]])
def test_what_is_no_run_is_refused(run, tmp_path):
    with pytest.raises(ConfigError, match=r"a page is made of a result .*; got "):
        bers.save_page(run, tmp_path / "x.html")
    with pytest.raises(ConfigError, match="path must be the name of a file"):
        bers.save_page(run, 3)
    assert not list(tmp_path.iterdir())


def test_curves_of_anything():
    assert "nothing to draw" in curve([np.nan, np.inf], "a", "b")
    long = curve(np.linspace(5, 1, 100_000), "a", "b")
    assert len(long) < 12_000
    assert ">100,000<" in long
    assert curve([np.nan, 2.0], "a", "b") == "<p>b: <b>2</b>, a single value so far.</p>"
    flat = curve([2.0, 2.0], "a", "b")
    assert "nan" not in flat
    assert "M90.0 121.0" in flat  # in the middle
    for value in (0.0, 500.0, -3.0, 1e20, 1e-12):
        ticks = [
            float(t) for t in re.findall(r">(-?[\d.e+-]+)</text>", curve([value] * 3, "a", "b"))
        ]
        assert ticks[0] < ticks[1] < ticks[2]
        assert ticks[1] == value
    drawn = curve([3.0, np.inf, 1.0], "a", "b")
    assert drawn.count("L") >= 1
    assert "inf" not in drawn


def test_bars_stay_in_their_rail():
    made = bars([("x" * 99, 1.2, np.nan, np.nan), ("nobody", -0.1, 0.0, 0.2)])
    assert "width:100.0%" in made
    assert "width:0.0%" in made
    assert made.count("<b ") == 1
