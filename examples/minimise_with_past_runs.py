# %% [markdown]
# # Minimise with past runs
#
# An engineer tunes one filter after another: eight numbers each, and a cost that takes an hour to
# measure. Three filters are done, and their runs are on disk. A fourth comes. Its cost is in
# other units, and full of ripples. One of the old runs knows where to look, one was on a quite
# different filter, one had a broken sensor. Nobody remembers which.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import bers

BUDGET = float(os.environ.get("BUDGET", "1"))  # below 1: fewer evaluations, for a quick look
D = 8
BOUNDS = [(-4, 4)] * D
rng = np.random.default_rng(0)

# %% [markdown]
# ## Three old runs
#
# `bers.minimize` without past runs is plain Differential Evolution. A result is a past run of the
# next one: it has all points that were tried. So has a run of scipy, a file, or a pair of arrays.

# %%
BEST = np.linspace(-1, 2, D)


def smooth(x):
    return np.sum((x - BEST) ** 2)


def different(x):
    return np.sum(np.abs(x + 2) ** 1.5)


def broken(x):
    return rng.normal()


iterations = int(80 * min(1, 2 * BUDGET))
past = {
    function.__name__: bers.minimize(
        function, BOUNDS, rng=seed, maxiter=iterations, learner=bers.DE()
    )
    for seed, function in enumerate((smooth, different, broken), start=1)
}
for name, run in past.items():
    print(f"{name:>9}: {run.nfev} evaluations, best {run.fun:.3g}")

# %% [markdown]
# ## The new one
#
# Its lowest valley is near that of the smooth one, but not at the same place; thousands of others
# are in between.


# %%
def new(x):
    z = x - BEST - 0.1
    return 200 + 5 * np.sum(z**2 + 4 * (1 - np.cos(2 * np.pi * z)))


# scipy's test for an end is relative to the values; beside an offset of 200 it would stop too early
settings = {"rng": 0, "maxfun": int(3000 * BUDGET), "learner": bers.DE(tol=0)}
model = bers.ModelConfig(batches=int(2000 * min(1, 2 * BUDGET)), learning_rate=5e-4)
helped = bers.minimize(new, BOUNDS, sources=past, model=model, **settings)
alone = bers.minimize(new, BOUNDS, **settings)
print(f"with past runs {helped.fun:.2f}, without {alone.fun:.2f}, the least possible is 200")
print(helped.ranking)

# %% [markdown]
# The run with the broken sensor gets nothing, and so does the different one. A point of an old
# run is tried once before it is used, and half of the search keeps away from old runs while they
# are used much. So had all three been useless, next to nothing would have been lost.
#
# ## The picture

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for result, label, colour in ((helped, "with past runs", "black"), (alone, "without", "#999999")):
    best = np.minimum.accumulate(result.fun_all) - 200
    left.semilogy(np.arange(1, len(best) + 1), best, color=colour, label=label)
left.set(title="The new filter", xlabel="evaluations", ylabel="best cost above the least possible")
left.legend()
shares = np.array(helped.weight_history)
for i, (name, colour) in enumerate(zip(past, ("#0072b2", "#d55e00", "#009e73"), strict=True)):
    right.plot(np.arange(1, len(shares) + 1), shares[:, i], color=colour, label=name)
right.set(title="Whom it trusts", xlabel="generation", ylabel="weight", ylim=(-0.03, 1.03))
right.legend()
figure.savefig("minimise_with_past_runs.png", dpi=110)
