# %% [markdown]
# # An agent with several people's logs
#
# Three people played with a pendulum that is too heavy to be lifted at once. One swung it up and
# made it stand, one let it hang, one let it turn. All of them were clumsy. Their logs have the
# same columns, and rewards for what *they* wanted. A new agent is paid for making it stand. It
# trains with SAC of Stable-Baselines3: with the logs of those it trusts, with all logs alike, and
# with none.
#
# Needs the extra `sb3`.

# %%
import os

import bers_studies.envs  # noqa: F401  tells Gymnasium of goals for the pendulum
import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.monitor import Monitor

import bers
from bers.integrations.gymnasium import Recorder
from bers.integrations.sb3 import BersCallback, BersReplayBuffer

BUDGET = float(os.environ.get("BUDGET", "1"))  # below 1: fewer steps, for a quick look
STEPS = int(3000 * BUDGET)
torch.set_num_threads(1)  # small networks are quicker so
GOALS = {"stands": (0.0, 0.0), "hangs": (np.pi, 0.0), "turns": (None, 8.0)}  # angle, speed


def task(goal):
    angle, speed = GOALS[goal]
    return gymnasium.make("bers/PendulumGoal-v0", angle=angle, speed=speed)


# %% [markdown]
# ## The logs
#
# Yours come from files: `bers.load("alice.parquet")`, a Minari data set, or an old replay buffer.
# Here three rules of thumb act, their hands shake, and a recorder writes down what they do.


# %%
def rule_of_thumb(goal, seen):
    angle, speed = np.arctan2(seen[1], seen[0]), seen[2]
    if goal == "hangs":
        return -speed
    if goal == "turns":
        return 8 - speed if speed >= 0 else 0.0
    if abs(angle) < 0.5 and abs(speed) < 3:
        return -10 * angle - 2 * speed
    energy = speed**2 / 6 + 5 * (np.cos(angle) - 1)  # 0 is just enough to come up
    return -2 * np.sign(speed) * np.sign(energy)


def log(goal, steps=3000):
    env, rng = Recorder(task(goal), goal), np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        push = np.clip([rule_of_thumb(goal, seen) + rng.normal()], -2, 2)
        seen, _, ended, cut, _ = env.step(push.astype(np.float32))
        if ended or cut:
            seen, _ = env.reset()
    return env.recording.demonstrations()


logs = [log(goal) for goal in GOALS]

# %% [markdown]
# ## Three agents
#
# The buffer holds the logs, the callback finds out whom to trust. It replaces the rewards in the
# logs by what *this* agent's task would pay there: the pendulum is the same, only wishes differ.
# It tries the one who would earn most, follows him, and gets past him. The second agent takes all
# logs alike, and follows now the one, now the other.


# %%
class Watched(BersCallback):
    """The callback, which also remembers what it thought."""

    def _on_step(self):
        goes_on = super()._on_step()
        if self.num_timesteps % 100 == 0:
            history.append((self.num_timesteps, dict(self.weights)))
        return goes_on


def trained(callback):
    env, reuse = Monitor(task("stands")), {}
    if callback is not None:
        reuse = {"replay_buffer_class": BersReplayBuffer, "replay_buffer_kwargs": {"sources": logs}}
    settings = {"learning_rate": 1e-3, "policy_kwargs": {"net_arch": [64, 64]}, "seed": 0}
    SAC("MlpPolicy", env, **settings, **reuse).learn(STEPS, callback=callback)
    return env.get_episode_rewards()


history = []
quick = bers.ModelConfig(batches=int(2000 * BUDGET), learning_rate=5e-4, skip=True)
returns = {
    "those it trusts": trained(Watched(model=quick)),
    "all logs alike": trained(BersCallback(rule="equal", model=quick)),
    "no logs": trained(None),
}
for name, weight in history[-1][1].items():
    print(f"{name:>6}  {weight:.2f}")

# %% [markdown]
# The weights go to the one who made it stand, after the first look. They measure wishes, not
# skill: had two people wanted that and one been better at it, the weights could not tell. Whom the
# agent follows is decided by what each would earn here, which can.
#
# One agent is one draw of luck; curves of the next seed look different. What is gained on average
# is measured over many trials, in `docs/supply.md` and by `bers-studies reproduce agents`.
#
# ## The picture

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (label, found), colour in zip(returns.items(), ("black", "#cc79a7", "#999999"), strict=True):
    left.plot(np.arange(1, len(found) + 1), found, color=colour, marker=".", label=label)
left.set(title="A new agent", xlabel="episode", ylabel="return")
left.legend()
at = [step for step, _ in history]
colours = ("#0072b2", "#d55e00", "#009e73", "#999999")
for name, colour in zip(history[-1][1], colours, strict=True):
    right.plot(at, [weights.get(name, 0.0) for _, weights in history], color=colour, label=name)
right.set(title="Whom it trusts", xlabel="step", ylabel="weight", ylim=(-0.03, 1.03))
right.legend()
figure.savefig("agent_with_logs.png", dpi=110)
