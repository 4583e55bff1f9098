# %% [markdown]
# # Whom to trust
#
# One machine with two knobs, three operators, three wishes. Alice wants a strong product, Bob a
# cheap one, Carol something in between. Each left a log: what they tried, and how much they liked
# it. Nobody wrote down what they wanted.
#
# Dana is new. With every setting that she tries, we ask again whose log she should learn from.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import bers

BUDGET = float(os.environ.get("BUDGET", "1"))  # below 1: less training, for a quick look
rng = np.random.default_rng(7)

# %% [markdown]
# ## The logs
#
# The wishes are only here so that the picture can show them; BERS sees settings and marks. Each
# operator marks in a way of their own: Bob out of ten, Dana out of a hundred.

# %%
WISHES = {"alice": (0.9, 0.8), "bob": (0.1, 0.2), "carol": (0.5, 0.5), "dana": (0.8, 0.75)}
MARKS = {"alice": (0, 1), "bob": (10, 4), "carol": (0, 1), "dana": (100, 60)}


def log(name, rows):
    settings = rng.uniform(0, 1, (rows, 2))
    far = np.sum((settings - WISHES[name]) ** 2, axis=1)
    best, worth = MARKS[name]
    return bers.Demonstrations(settings, best - worth * (far + rng.normal(0, 0.02, rows)), name)


logs = [log("alice", 800), log("bob", 300), log("carol", 60)]
dana = log("dana", 40)

# %% [markdown]
# ## What each of them wanted
#
# One encoder for all, one Bayesian head for each. The model is trained once, on the logs alone.

# %%
config = bers.ModelConfig(
    hidden=(32, 32), latent_dim=8, batches=int(2000 * BUDGET), learning_rate=3e-3
)
model = bers.fit(logs, config=config, progress=False)
print(model)

# %% [markdown]
# ## Dana tries, and we look
#
# `rank` gives Dana a head of her own, and asks which of the others explains her marks. What no
# one earns is "nobody".

# %%
tried = [3, 5, 8, 12, 20, 40]
shares = []
for rows in tried:
    ranking = bers.rank(logs, dana.take(np.arange(rows)), model=model, progress=False)
    shares.append([*ranking.weights, ranking.nobody])
print(ranking)

# %% [markdown]
# The last table has more than weights. "match" is how well a log goes with Dana's marks, "return"
# how content its writer was on average. The weights say whose *wish* is alike, not who is
# skilled: an operator who wants the same and is clumsy would look the same, but for that column.
#
# ## The picture

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60)), axis=-1)
colours = {"alice": "#0072b2", "bob": "#d55e00", "carol": "#009e73", "nobody": "#999999"}
for name, colour in list(colours.items())[:3]:
    liked = model.predict(name, grid.reshape(-1, 2)).mean.reshape(60, 60)
    good = np.quantile(liked, [0.9, 0.97])
    left.contour(grid[..., 0], grid[..., 1], liked, levels=good, colors=colour, linestyles="-")
    left.plot(*WISHES[name], "*", color=colour, markersize=12, label=name)
left.plot(dana.x[:, 0], dana.x[:, 1], "k.", markersize=4, label="what dana tried")
left.plot(*WISHES["dana"], "k*", markersize=12)
left.set(title="What the heads believe is liked", xlabel="first knob", ylabel="second knob")
left.legend(loc="lower right", fontsize=8)
for i, (name, colour) in enumerate(colours.items()):
    right.plot(tried, np.array(shares)[:, i], "o-", color=colour, label=name)
right.set(title="Whom Dana should trust", xlabel="settings that Dana tried", ylabel="weight")
right.set_xscale("log", base=2)
right.set_xticks(tried, tried)
right.legend(fontsize=8)
figure.savefig("whom_to_trust.png", dpi=110)
