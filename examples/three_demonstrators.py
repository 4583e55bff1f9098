"""Three operators, one machine, three different wishes: learn what each of them wanted.

The machine's settings are two numbers. Alice wants a strong product, Bob a cheap one, Carol
something in between. Each left a log of what they tried and how much they liked it. A fourth
person starts with thirty trials of their own.
"""

import numpy as np

import bers

rng = np.random.default_rng(7)


def log(wish, name, rows):
    settings = rng.uniform(0, 1, (rows, 2))
    liked = -np.sum((settings - wish) ** 2, axis=1) + 0.02 * rng.standard_normal(rows)
    return bers.Demonstrations(settings, liked, name)


logs = [log((0.9, 0.8), "alice", 800), log((0.1, 0.2), "bob", 300), log((0.5, 0.5), "carol", 60)]
config = bers.ModelConfig(hidden=(32, 32), latent_dim=8, batches=800, learning_rate=3e-3)
model = bers.fit(logs, config=config)

newcomer = log((0.85, 0.75), "dana", 30)
model = bers.refine(model, [*logs, newcomer], batches=20)
print(model)

best = np.array([[0.85, 0.75]])
for name in model.names:
    at_best = model.predict(name, best)
    low, high = at_best.interval(0.9)
    print(f"{name:6s} expects {at_best.mean[0]:+.2f} there (90%: {low[0]:+.2f} to {high[0]:+.2f})")
