"""A learner of Stable-Baselines3 is led by a source, and held near it. [Eq. pull]

Enters: a learner with a `BersReplayBuffer`, and a `Following` that says who leads and how free the
policy is. Where he leads, the actions that are collected are his clone's. Before each step of the
policy's optimiser the gradient of the distance to his clone is added to the library's own; its
weight rises while the distance, spread of the policy included, is above what is free, and falls
while it is below. The pull on an actor is in units of the spread of the critic's values over
actions, that on values of choices in units of the gradient that is there.
"""

import time
from types import MethodType
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch.nn.functional import binary_cross_entropy_with_logits

from bers.integrations.sb3.buffer import BersReplayBuffer
from bers.integrations.sb3.clones import Clone, columns
from bers.integrations.sb3.following import Following
from bers.integrations.sb3.sources import unscaled

_ROWS = 64
_EDGE = 0.98  # a share beyond which a tanh cannot be pulled
_FIRST, _WEIGHTS = 3.0, (0.03, 300.0)
_APART = 2  # steps of the optimiser between two pulls
_FALLS, _RISES = 0.08, 0.3  # of the weight's logarithm, per pull, at most
_SHAKE = 0.1  # standard deviation of actions, in [-1, 1], that are collected under a leader
_STEPS, _BATCH, _RATE = 400, 256, 1e-3  # of becoming the leader's
_ENTROPY = 0.1  # of the standard deviation of rewards
_REFRESH = 20  # pulls, after which the critic's spread is measured anew
_CHOICES = 5.0  # free share of choices that differ, times the free distance of actions


class Imitation:
    """Hooked to a learner until it is stopped. Without a leader it does nothing."""

    def __init__(self, learner: Any, buffer: BersReplayBuffer, following: Following) -> None:
        self.learner, self.buffer, self.following = learner, buffer, following
        self.seconds, self.weight, self.distance = 0.0, _FIRST, np.nan
        self.clones: dict[int, Clone] = {}
        self._noise = torch.Generator().manual_seed(int(following.rng.integers(2**31)))
        self._spread, self._pulls, self._steps, self._usual = np.nan, 0, 0, [0.0, 0.0]
        self._hook = None
        if can_be_pulled(learner):
            self._policy = learner.actor if _acts(learner) else learner.q_net
            optimiser = self._policy.optimizer if _acts(learner) else learner.policy.optimizer
            self._hook = optimiser.register_step_pre_hook(self._before_step)
        plain = learner._sample_action
        learner._sample_action = MethodType(
            lambda _, *args, **named: self._collected(*plain(*args, **named)), learner
        )

    def stop(self) -> None:
        """Leave the learner alone from now on."""
        if self._hook is not None:
            self._hook.remove()
        self.learner.__dict__.pop("_sample_action", None)

    def clone(self, source: int) -> Clone:
        """What a source would do; fitted when it is first asked for."""
        if source not in self.clones:
            rows = self._rows_of(source)
            seen, did = self.buffer.rows_of_sources(rows)
            space = self.learner.observation_space
            made = Clone(columns(seen, space).numpy(), did, self.learner.action_space, source)
            self.clones[source] = made
        return self.clones[source]

    def become(self) -> None:
        """Make the policy do what the leader's clone does, at once."""
        if self._hook is None:
            return
        started = time.perf_counter()
        optimiser = torch.optim.Adam(self._policy.parameters(), lr=_RATE)
        for _ in range(_STEPS):
            _, far = self._far(*self._asked(_BATCH))
            optimiser.zero_grad()
            far.backward()
            torch.optim.Adam.step(optimiser)
        for name in ("actor", "q_net"):
            aim = getattr(self.learner, f"{name}_target", None)
            if aim is not None:
                aim.load_state_dict(self._policy.state_dict())
        if getattr(self.learner, "ent_coef_optimizer", None) is not None:
            self._cool()
        self._steps = 0
        self.weight = _FIRST
        self.seconds += time.perf_counter() - started

    def _cool(self) -> None:
        """The price of entropy begins at a tenth of how far rewards differ, if it is above that.

        The library begins at 1, whatever the unit of rewards, and takes thousands of steps to come
        down; till then an actor is paid for leaving the leader.
        """
        held = self.buffer.buffer_size if self.buffer.full else self.buffer.pos
        assert self.buffer.pool is not None
        paid = self.buffer.rewards[:held] if held else self.buffer.pool.rewards
        most = _ENTROPY * float(np.std(paid))
        with torch.no_grad():
            self.learner.log_ent_coef.clamp_(max=np.log(max(most, 1e-6)))

    # who acts

    def _collected(self, actions: np.ndarray, stored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        led = self.following.leads()
        self.following.acted(led)
        if not led.any():
            return actions, stored
        started = time.perf_counter()
        leader, space = self.following.leader, self.learner.action_space
        assert leader is not None
        normal = self.learner._vec_normalize_env is not None
        seen = self.learner._last_original_obs if normal else self.learner._last_obs
        did = self.clone(leader).act(columns(seen, self.learner.observation_space))
        if isinstance(space, spaces.Box):
            shake = _SHAKE * self.following.rng.normal(size=did.shape)
            did = np.clip(did + shake, -1, 1).astype(np.float32).reshape(stored.shape)
            told = unscaled(did.reshape(len(did), -1), _flat(space)).reshape(actions.shape)
        else:
            did = did.reshape(stored.shape).astype(stored.dtype)
            told = did + np.asarray(space.start, stored.dtype)
        actions, stored = np.array(actions), np.array(stored)
        actions[led], stored[led] = told[led], did[led]
        self.seconds += time.perf_counter() - started
        return actions, stored

    # the pull

    def _before_step(self, *_: Any) -> None:
        self._steps += 1
        if self.following.follows and self._steps % _APART == 0:
            started = time.perf_counter()
            with torch.enable_grad():
                self._pull()
            self.seconds += time.perf_counter() - started

    def _pull(self) -> None:
        seen, wanted = self._asked(_ROWS)
        distance, far = self._far(seen, wanted)
        parameters = [p for p in self._policy.parameters() if p.grad is not None]
        pulls = torch.autograd.grad(far, parameters, allow_unused=True)
        size = self._unit(seen, wanted, parameters, pulls)
        for parameter, pull in zip(parameters, pulls, strict=True):
            if pull is not None:
                parameter.grad.add_(pull, alpha=self.weight * size)  # pyright: ignore
        if not _acts(self.learner):  # the library clipped before the pull was added
            torch.nn.utils.clip_grad_norm_(parameters, self.learner.max_grad_norm)
        free = self.following.freedom * (1.0 if _acts(self.learner) else _CHOICES)
        self.distance = float(distance)
        step = min(_FALLS * (self.distance / free - 1), _RISES)
        self.weight = float(np.clip(self.weight * np.exp(step), *_WEIGHTS))

    def _asked(self, rows: int) -> tuple[Any, torch.Tensor]:
        """States of the leader's and of the learner's own, and what he would do there."""
        rng, leader = self.following.rng, self.following.leader
        assert leader is not None
        learner, space = self.learner, self.learner.observation_space
        empty = not (self.buffer.full or self.buffer.pos)
        theirs = rng.choice(self._rows_of(leader), rows if empty else rows // 2)
        raw, _ = self.buffer.rows_of_sources(theirs)
        own = self.buffer.own_states(rng, rows - len(theirs))
        if isinstance(raw, dict):
            raw = {key: np.concatenate([raw[key], own[key]]) for key in raw}
        else:
            raw = np.concatenate([raw, own])
        clone = self.clone(leader)
        with torch.no_grad():
            wanted = clone(columns(raw, space))
        if clone.choices:
            wanted = wanted.argmax(dim=1, keepdim=True)
        seen = self.buffer.as_the_networks_see(raw, learner.get_vec_normalize_env())
        return seen, wanted.to(learner.device)

    def _far(self, seen: Any, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """How far the policy is, and what its gradient is taken of."""
        if not _acts(self.learner):
            q, margin = self._policy(seen), 0.0
            margin = q.detach().std(dim=1).mean()
            others = torch.arange(q.shape[1], device=q.device) != wanted
            far = (q + margin * others).max(dim=1).values - q.gather(1, wanted)[:, 0]
            return (q.argmax(dim=1, keepdim=True) != wanted).float().mean(), far.mean()
        bare = self._bare(seen)
        # its slope is twice the distance, also where the actor's last tanh is flat
        share = (1 + wanted.clip(-_EDGE, _EDGE)) / 2
        far = 2 * binary_cross_entropy_with_logits(2 * bare, share, reduction="none")
        return ((torch.tanh(bare.detach()) - wanted) ** 2).mean(), far.sum(dim=1).mean()

    def _bare(self, seen: Any) -> torch.Tensor:
        """The actor's output before its last tanh, with the noise it acts with."""
        if not hasattr(self._policy, "get_action_dist_params"):
            features = self._policy.extract_features(seen, self._policy.features_extractor)
            return self._policy.mu[:-1](features)
        mean, log_std, _ = self._policy.get_action_dist_params(seen)
        if self._policy.use_sde:
            return mean
        noise = torch.randn(mean.shape, generator=self._noise).to(mean.device)
        return mean + log_std.exp() * noise

    def _unit(self, seen: Any, wanted: torch.Tensor, parameters: Any, pulls: Any) -> float:
        """What a pull of weight one is worth to the learner."""
        self._pulls += 1
        if not _acts(self.learner):
            norms = [
                float(torch.stack([g.norm() for g in found if g is not None]).norm())
                for found in ([p.grad for p in parameters], pulls)
            ]
            self._usual = [max(n, 0.99 * u) for n, u in zip(norms, self._usual, strict=True)]
            return self._usual[0] / max(self._usual[1], 1e-12)
        if np.isnan(self._spread) or self._pulls % _REFRESH == 0:
            with torch.no_grad():
                anything = 2 * torch.rand(wanted.shape, generator=self._noise) - 1
                mixed = wanted[torch.randperm(len(wanted), generator=self._noise)]
                tried = [wanted, mixed, anything.to(wanted.device), torch.tanh(self._bare(seen))]
                found = [self.learner.critic.q1_forward(seen, a) for a in tried]
                now = float(torch.cat(found, dim=1).std(dim=1).mean())
            self._spread = now if np.isnan(self._spread) else 0.8 * self._spread + 0.2 * now
        return self._spread

    def _rows_of(self, source: int) -> np.ndarray:
        assert self.buffer.pool is not None
        ends = np.cumsum(self.buffer.pool.counts)
        return np.arange(ends[source] - self.buffer.pool.counts[source], ends[source])

    def __deepcopy__(self, memo: Any) -> None:
        return None


def can_be_pulled(learner: Any) -> bool:
    """Whether its policy is one of PyTorch's."""
    return _acts(learner) or isinstance(getattr(learner, "q_net", None), torch.nn.Module)


def can_be_led(learner: Any) -> bool:
    """Whether somebody else can choose its actions."""
    return callable(getattr(learner, "_sample_action", None))


def _acts(learner: Any) -> bool:
    return isinstance(getattr(learner, "actor", None), torch.nn.Module)


def _flat(space: spaces.Box) -> spaces.Box:
    return spaces.Box(space.low.ravel(), space.high.ravel(), dtype=space.dtype.type)  # pyright: ignore
