# %% [markdown]
# # An agent with several people's logs
#
# Three people turned a pendulum: one to the left, one held it still, one to the right, each at a
# speed of their own and none of them well. Their logs have all the same columns, and rewards for
# what *they* wanted. A new agent is paid for turning right, a little slower than the last of
# them. It trains with SAC of Stable-Baselines3, once with the logs and once without.
#
# Needs the extra `sb3`.

# %%
import os

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
from stable_baselines3 import SAC
from stable_baselines3.common.monitor import Monitor

from bers import Demonstrations
from bers.integrations.sb3 import BersCallback, BersReplayBuffer

BUDGET = float(os.environ.get("BUDGET", "1"))  # below 1: fewer steps, for a quick look
STEPS = int(4000 * BUDGET)


def task(speed):
    """The pendulum, which should turn with that speed."""
    return gymnasium.make("bers/PendulumGoal-v0", angle=None, speed=speed)


# %% [markdown]
# ## The logs
#
# Yours come from files: `bers.load("alice.parquet")`, a Minari data set, or an old replay buffer.
# Here clumsy rules write them: they push towards their speed, and their hands shake.


# %%
def somebody(speed, steps=2000):
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


sources = [somebody(speed) for speed in (-5.0, 0.0, 5.0)]

# %% [markdown]
# ## Two agents
#
# The buffer holds the logs, the callback finds out whom to trust. It replaces the rewards in the
# logs by what *this* agent's task would pay there: the pendulum is the same, only the wishes
# differ.


# %%
class Watched(BersCallback):
    """The callback, which also remembers what it thought."""

    def _on_step(self):
        goes_on = super()._on_step()
        if self.num_timesteps % 100 == 0:
            history.append((self.num_timesteps, dict(self.weights)))
        return goes_on


def trained(**more):
    env = Monitor(task(4.0))
    settings = {"learning_rate": 1e-3, "learning_starts": 100, "seed": 0}
    callback = more.pop("callback", None)
    SAC("MlpPolicy", env, **settings, **more).learn(STEPS, callback=callback)
    return env.get_episode_rewards()


history = []
with_logs = trained(
    replay_buffer_class=BersReplayBuffer,
    replay_buffer_kwargs={"sources": sources},
    callback=Watched(),
)
without = trained()
for name, weight in history[-1][1].items():
    print(f"{name:>10}  {weight:.2f}")

# %% [markdown]
# The weights go to the one who turned right, though the speeds differ: of the three wishes it is
# the nearest. They measure wishes, not skill. Had two people wanted the same and one been better
# at it, the weights could not tell.
#
# ## The picture

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for returns, label, colour in ((with_logs, "with logs", "black"), (without, "without", "#999999")):
    left.plot(np.arange(1, len(returns) + 1), returns, color=colour, marker=".", label=label)
left.set(title="A new agent", xlabel="episode", ylabel="return")
left.legend()
at = [step for step, _ in history]
colours = ("#0072b2", "#d55e00", "#009e73", "#999999")
for name, colour in zip(history[-1][1], colours, strict=True):
    right.plot(at, [weights.get(name, 0.0) for _, weights in history], color=colour, label=name)
right.set(title="Whom it trusts", xlabel="step", ylabel="weight", ylim=(-0.03, 1.03))
right.legend()
figure.savefig("agent_with_logs.png", dpi=110)
