"""The weights' quadratic program: ours against solvers off the shelf, and up to a million sources.

All are called in this process, one after the other. For the peers, the threads of NumPy's OpenBLAS
are tried both ways, one and all, and the faster counts; ours does not use OpenBLAS.
"""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from qp_peers import Peer, best_of, cvxopt_as_in_the_paper, daqp_dense, quadprog_dense
from row import GROWTH, Row, faster
from threadpoolctl import threadpool_limits
from timing import Turn, here, say, take_turns, timed
from weights_data import d, dense, draws, mixture, outside

from bers.trust.qp.simplex import solve

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]
_TIMES = "ms (less is better)"
_HOPELESS = 5  # a peer so many times slower than the fastest is not timed again
_CALLS = {3: 400, 10: 400, 30: 200, 100: 40, 300: 20, 1000: 10}


def rows() -> list[Row]:
    """Two races with the paper's solver, six with the best, one with many; and the growth."""
    return [
        _cvxopt(3, goal=20),
        _cvxopt(1000, goal=200),
        *(_best(N) for N in _CALLS),
        *_large(),
        _draws(),
    ]


def _cvxopt(N: int, *, goal: float) -> Row:
    problem = mixture(N)
    peer = cvxopt_as_in_the_paper(N, d)
    above = _above(peer, problem, most=1e-4)
    contenders = {"ours": here(lambda: solve(*problem)), **_variants("cvxopt", peer, problem)}
    calls = 100 if N < 100 else 2
    seconds = take_turns(f"weights_cvxopt_{N}", contenders, rounds=5, calls=calls)
    _, theirs = _fastest(seconds)
    return _race(
        f"weights_cvxopt_{N}",
        seconds["ours"],
        theirs,
        peer_name="cvxopt, as in the paper",
        goal=goal,
        note=f"{N:,} sources, {d} features. cvxopt forms P = MMᵀ + diag(s) and all else in the "
        f"call, with its default tolerances; its objective is {max(above, 0.0):.0e} above ours "
        "(relative).",
    )


def _best(N: int) -> Row:
    problem = mixture(N)
    peers = best_of(N, d)
    first = {}
    for name, peer in peers.items():
        _above(peer, problem)
        first[name] = timed(lambda peer=peer: peer(*problem))
        say(f"weights_best_{N}: {name} takes {1e3 * first[name]:.3g} ms")
    hopeful = [name for name in peers if first[name] < _HOPELESS * min(first.values())]
    contenders = {"ours": here(lambda: solve(*problem))}
    for name in hopeful:
        contenders |= _variants(name, peers[name], problem)
    rounds = 25 if N <= 100 else 7  # short calls see the machine change its speed
    seconds = take_turns(f"weights_best_{N}", contenders, rounds=rounds, calls=_CALLS[N])
    winner, theirs = _fastest(seconds)
    times = first | {name: _fastest(seconds, name)[1] for name in hopeful}
    listed = ", ".join(f"{n} {1e3 * t:.3g}" for n, t in sorted(times.items(), key=lambda x: x[1]))
    once = " (the slow ones timed once)" if len(hopeful) < len(peers) else ""
    return _race(
        f"weights_best_{N}",
        seconds["ours"],
        theirs,
        peer_name=winner,
        goal=1,
        note=f"{N:,} sources, {d} features; peers prepare all that does not depend on M outside "
        f"the clock. Milliseconds of each{once}: {listed}. Objectives within 1e-6 of ours.",
    )


def _large() -> list[Row]:
    """A million sources against one pass over them, and time per source from ten thousand on."""
    problems = {N: mixture(N) for N in (10**2, 10**3, 10**4, 10**5, 10**6)}
    M, _, s = problems[10**6]
    turned, u = np.asfortranarray(M), np.random.default_rng(0).standard_normal(len(M))
    names = {N: f"{N:,}" for N in problems}
    contenders = {names[N]: here(partial(solve, *problem)) for N, problem in problems.items()}
    contenders |= {
        "outside": here(partial(solve, M, outside(M), s)),
        "dense": here(partial(solve, M, dense(M), s)),
        "product by rows": here(lambda: M.T @ u),
        "product by columns": here(lambda: turned.T @ u),
    }
    seconds = take_turns("weights_million", contenders, rounds=5, calls=2)
    one = min(seconds["product by rows"], seconds["product by columns"])
    most = seconds[names[10**6]]
    share = np.mean(solve(M, dense(M), s).a > 0)
    linear = {N: most * N / 10**6 for N in problems}
    worst = max((10**4, 10**5), key=lambda N: seconds[names[N]] / linear[N])
    listed = ", ".join(f"{name}: {1e3 * seconds[name]:.3g}" for name in names.values())
    return [
        _growth(
            "weights_million",
            most,
            one,
            peer_name="one product Mᵀu in NumPy",
            goal=60,
            unit="seconds (ratio = solves per product)",
            note=f"1,000,000 sources, {d} features: M standard normal, t a mixture of three "
            "sources plus noise, s around 1; the product in the faster of both memory layouts. "
            f"A target outside the hull: ratio {seconds['outside'] / one:.1f}. The mean of all "
            f"as target, where {share:.0%} of the sources have weight: ratio "
            f"{seconds['dense'] / one:.1f}.",
        ),
        _growth(
            "weights_growth",
            seconds[names[worst]],
            linear[worst],
            peer_name="linear from 1e6 sources",
            goal=2,
            unit="seconds (ratio = time per source over that at 1e6)",
            note=f"The worse of 10,000 and 100,000 sources, here {worst:,}. Milliseconds by "
            f"sources: {listed}.",
        ),
    ]


def _draws() -> Row:
    M, t, s = draws()
    size, N = M.shape[:2]
    makers = {"quadprog": quadprog_dense, "DAQP": daqp_dense}
    contenders = {
        "ours": here(lambda: solve(M, t, s)),
        "floor": here(lambda: np.matmul(M, t[..., None])),
    }
    for name, make in makers.items():
        peer = make(N, d)
        for i in range(0, size, 50):
            _above(peer, (M[i], t[i], s))
        contenders[name] = _with_threads(1, partial(_one_by_one, peer, M, t, s))
    seconds = take_turns("weights_draws", contenders, rounds=9, calls=20)
    floor = seconds.pop("floor")
    winner, theirs = _fastest(seconds)
    listed = ", ".join(f"{n} {1e3 * seconds[n]:.3g}" for n in makers)
    return _race(
        "weights_draws",
        seconds["ours"],
        theirs,
        peer_name=f"{winner}, in a loop",
        goal=10,
        note=f"{size:,} posterior draws of {N} heads of 200 rows and of a target of 40; {d} "
        f"features. Ours in one call, in {os.cpu_count()} threads. Milliseconds: {listed}.",
    ).above(1e3 * floor, "each source's product with the target")


def _one_by_one(peer: Peer, M: np.ndarray, t: np.ndarray, s: np.ndarray) -> None:
    for i in range(len(M)):
        peer(M[i], t[i], s)


# ---- rows ----------------------------------------------------------------------------------------


def _race(name: str, ours: float, peer: float, *, peer_name: str, goal: float, note: str) -> Row:
    return faster(
        name,
        1e3 * ours,
        1e3 * peer,
        peer_name=peer_name,
        goal=goal,
        unit=_TIMES,
        note=note,
        less_is_better=True,
    )


def _growth(
    name: str, ours: float, peer: float, *, peer_name: str, goal: float, unit: str, note: str
) -> Row:
    return Row(name, ours, peer, peer_name, ours / peer, goal, GROWTH, unit, note)


# ---- peers ---------------------------------------------------------------------------------------


def _above(peer: Peer, problem: Problem, *, most: float = 1e-6) -> float:
    """How far the peer's objective is above ours, as a share; beyond `most` there is no race."""
    ours, theirs = (_objective(a, *problem) for a in (solve(*problem).a, peer(*problem)))
    above = theirs / ours - 1
    if not abs(above) <= most:
        raise RuntimeError(f"the answers differ: objectives {ours:.9g} (ours), {theirs:.9g}")
    return above


def _objective(a: np.ndarray, M: np.ndarray, t: np.ndarray, s: np.ndarray) -> float:
    rest = t - a @ M
    return 0.5 * float(rest @ rest + s @ a**2)


def _variants(name: str, peer: Peer, problem: Problem) -> dict[str, Turn]:
    """One thread of OpenBLAS, and all."""
    call = partial(peer, *problem)
    return {name: _with_threads(1, call), f"{name}|all": _with_threads(None, call)}


def _with_threads(threads: int | None, call: Callable[[], object]) -> Turn:
    def turn(calls: int) -> list[float]:
        with threadpool_limits(threads, user_api="blas"):
            return here(call)(calls)

    return turn


def _fastest(seconds: dict[str, float], name: str | None = None) -> tuple[str, float]:
    """The fastest peer, or the faster variant of one."""
    peers = {n: t for n, t in seconds.items() if n != "ours" and name in (None, n.split("|")[0])}
    best = min(peers, key=peers.__getitem__)
    return best.split("|")[0], peers[best]
