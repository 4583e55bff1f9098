"""Pictures of the supply chain."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from bers_studies.envs.actor_drawing import draw_actor
from bers_studies.envs.pictures import as_pixels
from bers_studies.envs.supply_chain import SupplyChain, ring_costs, step_with
from bers_studies.envs.supply_drawing import KINDS, draw_network, draw_scenarios
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch

STOCK = np.array([20, 30, 0, 9, 3, 1, 50], np.int32)


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text()]


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def period(config, stock, action, demand):
    after, _, parts = step_with(
        stock, np.asarray(action, np.float32), np.asarray(demand, np.int32), config=config
    )
    return np.asarray(after), {name: np.asarray(part) for name, part in vars(parts).items()}


def ink(figure):
    return np.mean((as_pixels(figure) != 255).any(axis=2))


def test_a_period_is_told_in_arrows_and_numbers():
    config = SupplyChain(1)
    action = np.zeros(44)
    action[[0, 2, 4]] = 1.0, 0.5, 0.5  # the factory's to A, cheap, and to C, dear
    action[8:14] = [0, 0, 0, 1, 0, 0]  # A's all to D, across
    after, info = period(config, STOCK, action, [1, 2, 3, 0, 0, 0])
    figure = draw_network(after, info, config=config, period=12)
    colours = [to_hex(arrow.get_facecolor()).upper() for arrow in arrows(figure.axes[0])]
    # five cheap routes nothing went along; then the widest first
    expected = [KINDS["cheap"]] * 5 + [KINDS["loses money"], KINDS["cheap"], KINDS["dear"]]
    assert colours == expected
    said = texts(figure)
    assert said.count("30") == 1  # from A to D
    assert said.count("10") == 2  # from the factory
    for text in ("period 12", "+2.40", "−3.50", "2 not served", "35", "loses money: 3.00"):
        assert text in said, text
    profit = info["revenue"] - info["production"] - info["storage"] - info["transport"]
    assert f"{profit:+.2f}".replace("-", "−") in said
    assert 0.02 < ink(figure) < 0.5


def test_tanks_are_as_full_as_the_stock():
    config = SupplyChain(1)
    levels = [ink(draw_network(np.full(7, n), config=config)) for n in (0, 25, 50)]
    np.testing.assert_allclose(levels[1] - levels[0], levels[2] - levels[1], rtol=0.15)
    assert levels[1] - levels[0] > 0.03


@pytest.mark.parametrize("K", [2, 5, 14])
def test_any_number_of_warehouses(K):
    config = SupplyChain(ring_costs(K, [(0, 1)]), demand=(2,) * K)
    action = np.random.default_rng(0).exponential(size=config.actions)
    after, info = period(config, np.full(K + 1, 40, np.int32), action, [3] * K)
    figure = draw_network(after, info, config=config)
    assert ink(figure) > 0.02
    assert set(config.places) <= set(texts(figure))


def test_the_scenarios_show_their_cheap_routes():
    figure = draw_scenarios()
    for ax, title in zip(
        figure.axes, ("scenario 1", "scenario 2", "scenario 3", "target"), strict=False
    ):
        assert ax.get_title() == title
        strong = [a for a in arrows(ax) if to_hex(a.get_facecolor()).upper() == KINDS["cheap"]]
        assert (len(strong), len(arrows(ax))) == (6, 36)
    assert {"0.03 a truck", "1.50 a truck", "3.00 a truck"} <= set(texts(figure))
    assert 0.03 < ink(figure) < 0.5


def test_the_actor_shows_its_sizes():
    said = texts(draw_actor())
    assert said.count("300") == 2
    assert said.count("softmax 6") == 6
    for text in ("stocks, one-hot: 7 × 51", "sigmoid 1", "softmax 7", "action: 44 numbers"):
        assert text in said
    one = texts(draw_actor(hidden=(64,), config=SupplyChain(ring_costs(3, []), demand=(1, 1, 1))))
    assert one.count("softmax 3") == 3
    assert "64" in one


def test_files_are_what_is_shown(tmp_path):
    for draw, name in ((draw_scenarios, "scenarios.png"), (draw_actor, "actor.png")):
        figure = draw(path=tmp_path / name)
        found = matplotlib.image.imread(tmp_path / name)[..., :3]
        np.testing.assert_allclose(found * 255, as_pixels(figure), atol=0.6)


def test_matplotlib_is_left_alone():
    program = """
import sys, matplotlib
def settings():
    names = [name for name in matplotlib.rcParams if name != "backend"]  # asking would choose one
    return matplotlib.get_backend(auto_select=False), [matplotlib.rcParams[n] for n in names]
before = settings()
from bers_studies.envs.supply_drawing import draw_scenarios
from bers_studies.envs.pictures import as_pixels
as_pixels(draw_scenarios())
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
