"""Two operators of a cart with a pole are recorded; somebody new asks whom to learn from.

One operator wants the cart on the left, the other on the right. Each has a rule of thumb that
balances the pole and moves the cart to where it should be. Somebody new wants the cart half way to
the right. Twenty episodes of pushing at random are all there is to tell what that means.
"""

import gymnasium
import numpy as np

import bers
from bers.integrations.gymnasium import Recorder


class CartAt(gymnasium.Wrapper):
    """Gymnasium's CartPole with a wish of its own: the place where the cart should be."""

    def __init__(self, place):
        super().__init__(gymnasium.make("CartPole-v1", max_episode_steps=150))
        self.place = place

    def step(self, action):
        seen, _, terminated, truncated, info = self.env.step(action)
        return seen, -float((seen[0] - self.place) ** 2), terminated, truncated, info


def steady(place):
    """Lean towards the place, and push the cart under the pole."""

    def policy(seen):
        x, speed, lean, turn = seen
        return int(lean + 0.5 * turn + 0.05 * (x - place) + 0.1 * speed > 0)

    return policy


def record(name, place, policy, episodes):
    env = Recorder(CartAt(place), name)
    for seed in range(episodes):
        seen, _ = env.reset(seed=seed)
        over = False
        while not over:
            seen, _, terminated, truncated, _ = env.step(policy(seen))
            over = terminated or truncated
    env.close()
    return env.recording


rng = np.random.default_rng(0)
recordings = [
    record("left", -1.0, steady(-1.0), episodes=10),
    record("right", +1.0, steady(+1.0), episodes=10),
    record("half way to the right", +0.5, lambda seen: int(rng.integers(2)), episodes=20),
]
paths = ["left.parquet", "right.parquet", "new.parquet"]
for recording, path in zip(recordings, paths, strict=True):
    recording.save(path, overwrite=True, inputs=lambda before, action, after: after)

left, right, new = (bers.load(path) for path in paths)
config = bers.ModelConfig(hidden=(32, 32), latent_dim=8, batches=800, learning_rate=3e-3)
print(bers.rank([left, right], new, model=config, rng=0))

for recording in recordings:
    last = np.mean([one.observations[-1, 0] for one in recording.episodes])
    print(f"{recording}: the cart ends at {last:+.2f}")
