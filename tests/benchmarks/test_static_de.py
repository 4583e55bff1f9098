import numpy as np
import pytest
import static_de


def test_contenders_start_from_the_same_points_inside_the_bounds():
    points = static_de.first_points()
    assert points.shape == (static_de.NP, static_de.D)
    low, high = np.transpose(static_de.BOUNDS)
    assert np.all((points >= low) & (points <= high))
    np.testing.assert_array_equal(points, static_de.first_points())


def test_both_spheres_are_the_same_function():
    points = static_de.first_points()
    one_by_one = [static_de.one_value(point) for point in points]
    np.testing.assert_allclose(static_de.column_values(points.T), one_by_one, rtol=1e-14)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("make", [static_de.ours, static_de.scipy_de])
def test_contenders_do_the_same_work(make, in_place):
    count, best = make(in_place=in_place)()
    assert count == static_de.EVALUATIONS
    assert best < 1e-6


def test_pymoo_does_the_same_work(monkeypatch):
    monkeypatch.setattr(static_de, "GENERATIONS", 40)  # it is slow
    monkeypatch.setattr(static_de, "EVALUATIONS", 41 * static_de.NP)
    monkeypatch.setattr(static_de, "_FOUND", 10.0)
    count, best = static_de.pymoo_de()()
    assert count == static_de.EVALUATIONS
    assert 0 < best < 10


def test_a_contender_that_stops_early_is_refused():
    with pytest.raises(RuntimeError, match=r"lazy made 32 evaluations \(wanted 9632\)"):
        static_de._checked("lazy", lambda: (32, 0.0))


def test_a_contender_that_finds_nothing_is_refused():
    with pytest.raises(RuntimeError, match="found 7"):
        static_de._checked("blind", lambda: (static_de.EVALUATIONS, 7.0))
