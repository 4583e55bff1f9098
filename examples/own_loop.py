"""A training loop of one's own that learns from several people's logs: `Trust`, and nothing else.

Somebody steers a point over a table towards a goal that only the rewards tell. There are logs of
three people who steered towards goals of their own. The learner is fitted Q iteration, by hand.
"""

import numpy as np

import bers

rng, goal = np.random.default_rng(0), np.array([-0.6, 0.6])
TRY = rng.uniform(-1, 1, (64, 2))  # actions to choose from


def step(s, a, goal):
    later = np.clip(s + 0.3 * a, -1, 1)
    return later, -np.sum((later - goal) ** 2, axis=-1)


def steered(goal, rows=400):  # a person who is often wrong, but knows where to go
    s = rng.uniform(-1, 1, (rows, 2))
    a = np.clip(3 * (goal - s) + rng.normal(0, 0.7, s.shape), -1, 1)
    return np.hstack([s, a, step(s, a, goal)[0]]), step(s, a, goal)[1]


def features(s, a):
    z = np.concatenate([s, a, np.ones_like(s[..., :1])], axis=-1)
    return (z[..., :, None] * z[..., None, :]).reshape(*z.shape[:-1], -1)


people = {"ann": [0.8, 0.8], "bob": [-0.7, 0.5], "cy": [0.0, -0.9]}
logs = [bers.Demonstrations(*steered(np.array(g)), name) for name, g in people.items()]
config = bers.ModelConfig(hidden=(64,), latent_dim=12, batches=1000, learning_rate=1e-3)
trust = bers.Trust(logs, model=config, batches=20, progress=False)
w, rows, rewards = np.zeros(25), np.zeros((0, 6)), np.zeros(0)
for episode in range(1, 9):
    s = np.zeros(2)
    for _ in range(12):
        a = np.clip(TRY[np.argmax(features(s + 0 * TRY, TRY) @ w)] + rng.normal(0, 0.3, 2), -1, 1)
        later, r = step(s, a, goal)
        rows, rewards = np.vstack([rows, [*s, *a, *later]]), np.append(rewards, r)
        s = later
    trust = trust.observe(rows[-12:], rewards[-12:])  # whom to believe now
    counts = (300 * trust.weights).astype(int)
    theirs = np.vstack(
        [log.x[rng.permutation(400)[:n]] for n, log in zip(counts, logs, strict=True)]
    )
    x, y = np.vstack([rows, theirs]), np.append(rewards, trust.relabel(theirs))
    for _ in range(20):  # fitted Q iteration on own rows and theirs
        q = np.max([features(x[:, 4:], 0 * x[:, 4:] + u) @ w for u in TRY], axis=0)
        phi = features(x[:, :2], x[:, 2:4])
        w = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(25), phi.T @ (y + 0.8 * q))
    print(f"episode {episode}: return {rewards[-12:].sum():6.2f}  {trust}")
