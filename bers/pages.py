"""A person's own run as a page.

Enters: what `minimize`, `Optimizer`, Optuna, a callback or a `Trust` left. Leaves: one HTML file,
made of the same parts as `bers rank --html`, that can be opened offline and sent by mail.
"""

import html
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import ConfigError, DataError
from bers.files import write_atomically
from bers.html import bars, curve, rows_of, text, whole_page


def save_page(run: Any, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write a run as one HTML file: whom it trusted, what came of it, who was used.

    Parameters
    ----------
    run
        A result of `minimize` or an `Optimizer`; a study of Optuna's; a `BersCallback`; a `Trust`,
        or its ranking.
    path
        Where to.
    title
        The heading; None: what kind of run it is.

    Examples
    --------
    >>> import tempfile, bers
    >>> result = bers.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], rng=0, maxfun=30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_page(result, f"{folder}/run.html")
    ...     "Best value so far" in Path(folder, "run.html").read_text()
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"path must be the name of a file; got {type(path).__name__}.")
    kind, parts = _parts(run)
    page = whole_page(kind if title is None else str(title), parts)
    with write_atomically(path) as draft:
        Path(draft).write_text(page, encoding="utf-8")


def _parts(run: Any) -> tuple[str, list[str]]:
    if _is_result(run):
        return "A search", _of_result(run)
    if hasattr(run, "ask") and callable(getattr(run, "result", None)):  # an Optimizer
        return "A search", _of_result({"ranking": run.ranking(), **run.result()})
    if hasattr(run, "trials") and hasattr(run, "directions"):
        return "A study", _of_study(run)
    if hasattr(run, "reuse") and hasattr(run, "on_step"):
        return "An agent", _of_callback(run)
    if callable(getattr(run, "ranking", None)):  # a Trust
        return "Whom to trust", _ranked(run.ranking())
    if hasattr(run, "verdict") and hasattr(run, "to_dict"):
        return "Whom to trust", _ranked(run)
    raise ConfigError(
        f"a page is made of a result of minimize, an Optimizer, a study, a callback, a Trust or a "
        f"ranking; got {type(run).__name__}."
    )


def _ranked(ranking: Any) -> list[str]:
    from bers.trust.render import page_parts

    return page_parts(ranking.to_dict())


def _shares(weights: Mapping[str, float], ranking: Any) -> list[str]:
    """Weights, by the ranking where there is one: it knows intervals, and what they rest on."""
    if ranking is not None:
        return ["<h2>Whom it trusted</h2>", *_ranked(ranking)]
    if not weights:
        return ['<p class="soft">No past run was given.</p>']
    nobody = max(0.0, 1.0 - sum(weights.values()))
    lines = [*weights.items(), *([] if "nobody" in weights else [("nobody", nobody)])]
    lines.sort(key=lambda one: (one[0] == "nobody", -one[1]))
    return ["<h2>Whom it trusted</h2>", bars([(name, w, math.nan, math.nan) for name, w in lines])]


def _is_result(run: object) -> bool:
    """Of scipy's kind, by us."""
    return isinstance(run, dict) and "fun_all" in run


def _of_result(result: Mapping[str, Any]) -> list[str]:
    values = np.asarray(result["fun_all"], float)
    best = np.minimum.accumulate(np.where(np.isnan(values), np.inf, values))
    point = ", ".join(f"{v:.5g}" for v in np.atleast_1d(result["x"])[:12])
    more = ", ..." if np.size(result["x"]) > 12 else ""
    parts = [
        f"<p>Best value <b>{float(result['fun']):.6g}</b> after {int(result['nfev']):,} "
        f"evaluations, at ({point}{more}). {text(result.get('message', ''), 200)}</p>",
        curve(best, "evaluation", "Best value so far"),
        *_shares(result.get("weights") or {}, result.get("ranking")),
    ]
    used = result.get("sources_used") or {}
    if used:
        cells = [["past run", "points used"], *([str(n), f"{k:,}"] for n, k in used.items())]
        parts += ["<h2>Who was used</h2>", rows_of(cells)]
    return parts


def _of_study(study: Any) -> list[str]:
    from bers.integrations.optuna.report import HEADS, helped
    from bers.integrations.optuna.space import KEY

    if len(study.directions) > 1:
        raise DataError("a page is made of a study with one objective; this one has several.")
    done = [t for t in study.trials if t.value is not None and math.isfinite(t.value)]
    told = [t.user_attrs[KEY]["weights"] for t in study.trials if KEY in t.user_attrs]
    sign = -1.0 if study.direction.name == "MAXIMIZE" else 1.0
    best = sign * np.minimum.accumulate([sign * t.value for t in done]) if done else np.zeros(0)
    at = (
        f"Best value <b>{best[-1]:.6g}</b> after {len(done):,} trials." if done else "No trial yet."
    )
    parts = [f"<p>{at}</p>", curve(best, "trial", "Best value so far")]
    parts += _shares(told[-1] if told else {}, None)
    if told:
        parts += ["<h2>Who was used</h2>", rows_of([HEADS, *helped(study)])]
    return parts


def _of_callback(callback: Any) -> list[str]:
    if callback.reuse is None:
        raise ConfigError("this callback has not learned yet: give it to learn(..., callback=...).")
    trust, model = callback.reuse.trust, callback.model
    returns = [one["r"] for one in getattr(model, "ep_info_buffer", None) or []]
    ranking = trust.ranking() if getattr(trust, "has_target", False) else None
    often = "once" if callback.reuse.m == 1 else f"{callback.reuse.m:,} times"
    parts = [
        f"<p>{model.num_timesteps:,} steps; weights were found {often}.</p>",
        curve(returns, "episode, of those the library keeps", "Return"),
        *_shares(callback.weights, ranking),
    ]
    drawn = getattr(model.replay_buffer, "drawn", None)
    if drawn is not None:
        names: Sequence[str] = [*callback.names, "its own"]
        counted = zip(names, drawn, strict=True)
        cells = [["rows of", "drawn"], *([n, f"{int(k):,}"] for n, k in counted)]
        parts += ["<h2>Who was used</h2>", rows_of(cells)]
    if callback.worth is not None:
        shown = html.escape(str(callback.worth))
        parts += ["<h2>What each would have earned here</h2>", f'<pre class="wide">{shown}</pre>']
    return parts
