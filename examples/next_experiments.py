# %% [markdown]
# # Which experiments next?
#
# A chemist couples two molecules. Four bases, six ligands, four solvents and three temperatures
# make 288 conditions, and a robot does eight at a time. Two couplings like it were worked on
# before; their notebooks are tables. Nobody knows which of them is of use.

# %%
import itertools

import numpy as np
import pandas as pd

import bers

COLUMNS = {
    "base": ["KOAc", "K3PO4", "Cs2CO3", "NEt3"],
    "ligand": ["XPhos", "SPhos", "PPh3", "PCy3", "dppf", "none"],
    "solvent": ["DMAc", "toluene", "dioxane", "water"],
    "celsius": [60, 90, 120],
}
conditions = pd.DataFrame(list(itertools.product(*COLUMNS.values())), columns=list(COLUMNS))

# %% [markdown]
# ## Reactions that nobody can look into
#
# Each has a liking for every base, ligand, solvent and temperature. The one that was done in March
# is much like the new one; the one in May had another mechanism.

# %%
rng = np.random.default_rng(2)
NEW = {name: {word: rng.normal() for word in words} for name, words in COLUMNS.items()}


def moved(likings, by):
    return {
        name: {word: value + rng.normal(0, by) for word, value in of.items()}
        for name, of in likings.items()
    }


def yield_of(likings, rows):
    total = sum(rows[name].map(likings[name]).astype(float) for name in COLUMNS)
    return 100 / (1 + np.exp(2 - total))


likings = {"march": moved(NEW, 0.3), "may": moved(NEW, 3.0)}
notebooks = {}
for name, number in (("march", 60), ("may", 90)):
    done = conditions.sample(number, random_state=number)
    notebooks[name] = done.assign(percent=yield_of(likings[name], done).round(1))
print(notebooks["march"].head())

# %% [markdown]
# ## Plates of eight
#
# `ask` gives rows of the table, and the same ones until they are told. One experiment in ten fails.

# %%
campaign = bers.Campaign(conditions, notebooks, y="percent", maximize=True, rng=0)
alone = bers.Campaign(conditions, maximize=True, rng=0)
for number in range(1, 5):
    for one in (campaign, alone):
        plate = one.ask(8)
        measured = yield_of(NEW, plate).where(rng.random(len(plate)) > 0.1)
        one.tell(plate, measured)
    print(f"plate {number}: best {campaign.best:.1f}%, without notebooks {alone.best:.1f}%")

# %% [markdown]
# ## What was found
#
# The best conditions, which notebook was of use, and what is expected of every condition.

# %%
result = campaign.result()
print(f"{result.fun:.1f}% of {yield_of(NEW, conditions).max():.1f}% that there is:", result.x)
print({name: round(weight, 2) for name, weight in campaign.weights.items()})
middle, spread = campaign.predict()
table = conditions.assign(expected=middle.round(1), give_or_take=spread.round(1))
print(table.sort_values("expected", ascending=False).head())
