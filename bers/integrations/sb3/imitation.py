"""A learner of Stable-Baselines3 is pulled towards what trusted sources did.

Enters: a learner whose replay buffer follows a guide. Before each step of its policy's optimiser,
with chance p_m, the gradient of how far the policy is from the sources' actions is added to the
library's own; rows are drawn by the weights, and nobody's share stays empty. Actors are pulled by
their distance, in units of the critic's values; values of choices by a margin. [Eq. pull]
"""

import time
from dataclasses import replace
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from bers.errors import ConfigError
from bers.integrations.sb3.buffer import BersReplayBuffer
from bers.reuse.transitions import BatchGuide

_ROWS = 64


class Imitation:
    """Hooked to a learner's optimiser until it is stopped. Without a guide it does nothing."""

    def __init__(self, learner: Any, buffer: BersReplayBuffer, weight: float) -> None:
        self.learner, self.buffer, self.weight = learner, buffer, weight
        self.policy = learner.actor if _acts(learner) else learner.q_net
        optimiser = self.policy.optimizer if _acts(learner) else learner.policy.optimizer
        self.seconds = 0.0
        self._hook = optimiser.register_step_pre_hook(self._before_step)

    def stop(self) -> None:
        """Leave the optimiser alone from now on."""
        self._hook.remove()

    def _before_step(self, *_: Any) -> None:
        guide = self.buffer.guide
        if guide is not None and guide.rng.random() < guide.p_m:
            started = time.perf_counter()
            self._pull(guide)
            self.seconds += time.perf_counter() - started

    def _pull(self, guide: BatchGuide) -> None:
        rows = replace(guide, p_m=1.0, mix="row").draw(1, _ROWS)[0]
        rows = rows[rows >= 0]
        if not len(rows):
            return
        seen, did = self.buffer.shown(rows, self.learner.get_vec_normalize_env())
        with torch.enable_grad():
            far = self._values(seen, did) if not _acts(self.learner) else self._actor(seen, did)
            loss = self.weight * far.sum() / _ROWS
            parameters = [p for p in self.policy.parameters() if p.grad is not None]
            pulls = torch.autograd.grad(loss, parameters, allow_unused=True)
        for parameter, pull in zip(parameters, pulls, strict=True):
            if pull is not None:
                parameter.grad.add_(pull)  # pyright: ignore[reportOptionalMemberAccess]
        if not _acts(self.learner):  # the library clipped before the pull was added
            torch.nn.utils.clip_grad_norm_(parameters, self.learner.max_grad_norm)

    def _actor(self, seen: Any, did: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            size = self.learner.critic.q1_forward(seen, did).abs().mean()
        # its slope is twice the distance, also where the actor's last tanh is flat
        far = binary_cross_entropy_with_logits(
            2 * self._bare(seen), (1 + did) / 2, reduction="none"
        )
        return 2 * size * far.mean(dim=1)

    def _bare(self, seen: Any) -> torch.Tensor:
        """The actor's output before its last tanh."""
        if hasattr(self.policy, "get_action_dist_params"):
            return self.policy.get_action_dist_params(seen)[0]
        features = self.policy.extract_features(seen, self.policy.features_extractor)
        return self.policy.mu[:-1](features)

    def _values(self, seen: Any, did: torch.Tensor) -> torch.Tensor:
        q = self.policy(seen)
        did = did.long().reshape(-1, 1)
        margin = q.detach().std(dim=1).mean()
        choices = torch.arange(q.shape[1], device=q.device)
        return (q + margin * (choices != did)).max(dim=1).values - q.gather(1, did)[:, 0]


def imitation(
    learner: Any, buffer: BersReplayBuffer, weight: float | None, *, usual: float
) -> Imitation | None:
    """Pull a learner's policy; if no weight is asked for, by `usual` where its library allows."""
    if weight == 0:
        return None
    if _acts(learner) or isinstance(getattr(learner, "q_net", None), torch.nn.Module):
        return Imitation(learner, buffer, usual if weight is None else weight)
    if weight is None:
        return None
    raise ConfigError(
        f"{type(learner).__name__} cannot be made to imitate: it has no actor or values of "
        "PyTorch. Pass BersCallback(clone=0), or use a learner of Stable-Baselines3."
    )


def _acts(learner: Any) -> bool:
    return isinstance(getattr(learner, "actor", None), torch.nn.Module)
