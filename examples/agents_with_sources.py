"""Three people turned a pendulum at three speeds. A new agent wants the third: whom does it trust?

Run with the `sb3` extra. The demonstrators here are simple rules; yours come from files.
"""

import gymnasium
import numpy as np
from stable_baselines3 import SAC

from bers import Demonstrations
from bers.integrations.sb3 import BersCallback, BersReplayBuffer


def task(speed: float) -> gymnasium.Env:
    """The pendulum, which should turn with that speed."""
    return gymnasium.make("bers/PendulumGoal-v0", angle=None, speed=speed)


def somebody(speed: float, steps: int = 2000) -> Demonstrations:
    """A clumsy demonstrator who wanted that speed."""
    env, rows = task(speed), []
    rng = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        push = np.clip(speed - seen[2] + rng.normal(0, 1), -2, 2)
        action = np.array([push], np.float32)
        later, reward, ended, cut, _ = env.step(action)
        rows.append((seen, action, reward, later, ended, cut))
        seen = env.reset()[0] if ended or cut else later
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Demonstrations.from_transitions(*columns, name=f"{speed:+.0f} rad/s")


def main(steps: int = 1500) -> None:
    """Train, and say whom the agent trusted."""
    sources = [somebody(speed) for speed in (-5.0, 0.0, 5.0)]
    trust = BersCallback()
    agent = SAC(
        "MlpPolicy",
        task(5.0),
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
