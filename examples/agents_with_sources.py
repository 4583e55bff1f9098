"""Three people swung a pendulum to three places. A new agent wants the third: whom does it trust?

Run with the `sb3` extra. The demonstrators here are simple rules; yours come from files.
"""

import gymnasium
import numpy as np
from stable_baselines3 import SAC

from bers import Demonstrations
from bers.integrations.sb3 import BersCallback, BersReplayBuffer


class PendulumTo(gymnasium.Wrapper):
    """The pendulum with another goal: an angle from upright."""

    def __init__(self, angle: float) -> None:
        super().__init__(gymnasium.make("Pendulum-v1"))
        self.angle = angle

    def step(self, action):
        angle, speed = self.unwrapped.state
        away = (angle - self.angle + np.pi) % (2 * np.pi) - np.pi
        reward = -(away**2) - 0.1 * speed**2 - 0.001 * float(np.sum(action**2))
        seen, _, *rest = self.env.step(action)
        return seen, float(reward), *rest


def somebody(angle: float, steps: int = 2000) -> Demonstrations:
    """A clumsy demonstrator who wanted the pendulum at that angle."""
    env, rows = PendulumTo(angle), []
    rng = np.random.default_rng(round(10 * angle) % 97)
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        away = (np.arctan2(seen[1], seen[0]) - angle + np.pi) % (2 * np.pi) - np.pi
        push = np.clip(-2 * away - 0.5 * seen[2] + rng.normal(0, 1), -2, 2)
        action = np.array([push], np.float32)
        later, reward, ended, cut, _ = env.step(action)
        rows.append((seen, action, reward, later, ended, cut))
        seen = env.reset()[0] if ended or cut else later
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Demonstrations.from_transitions(*columns, name=f"{angle:+.1f} rad")


def main(steps: int = 1500) -> None:
    """Train, and say whom the agent trusted."""
    sources = [somebody(angle) for angle in (-1.0, 0.0, 1.0)]
    trust = BersCallback()
    agent = SAC(
        "MlpPolicy",
        PendulumTo(1.0),
        learning_rate=1e-3,
        replay_buffer_class=BersReplayBuffer,
        replay_buffer_kwargs={"sources": sources},
        seed=0,
    )
    agent.learn(steps, callback=trust)
    for name, weight in trust.weights.items():
        print(f"{name:>10}  {weight:.2f}")


if __name__ == "__main__":
    main()
