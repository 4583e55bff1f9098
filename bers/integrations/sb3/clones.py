"""What one source would do in a state: a network fitted to the rows of one source, and of no other.

Enters: a buffer with the rows of sources. Leaves: a `Clone`, which answers raw observations with
actions as the library stores them. It is asked by whoever is led by that source: the policy that
collects, and the pull on the policy that learns.
"""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Float32, Int
from stable_baselines3.common.preprocessing import preprocess_obs
from torch.nn.functional import cross_entropy, mse_loss

_HIDDEN = 128
_STEPS, _FEWEST, _ROWS = 1500, 300, 256
_RATE = 2e-3
_HELD = 10  # one row of so many is held out
_FAR = 8.0  # standard deviations at which an observation is cut


class Clone(torch.nn.Module):
    """One source's behaviour.

    `skill` is the share of what it did, on rows held out, that the network foretells: of the
    variance of actions, or of choices. `spread` is how far the source scatters around it.
    """

    def __init__(self, seen: np.ndarray, did: np.ndarray, space: spaces.Space, seed: int) -> None:
        super().__init__()
        self.choices = int(space.n) if isinstance(space, spaces.Discrete) else 0
        out = self.choices or did.shape[1]
        self.centre = torch.as_tensor(seen.mean(axis=0))
        self.size = torch.as_tensor(seen.std(axis=0) + 1e-3 * np.abs(seen).max(axis=0) + 1e-6)
        with torch.random.fork_rng(devices=[]):  # the learner's own stream is left alone
            torch.manual_seed(seed)
            self.net = torch.nn.Sequential(
                torch.nn.Linear(seen.shape[1], _HIDDEN),
                torch.nn.ReLU(),
                torch.nn.Linear(_HIDDEN, _HIDDEN),
                torch.nn.ReLU(),
                torch.nn.Linear(_HIDDEN, out),
            )
        self.skill = self.spread = np.nan
        self._fit(np.random.default_rng(seed), torch.as_tensor(seen), torch.as_tensor(did))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Actions in [-1, 1], or one number for each choice, the largest for what it would do."""
        out = self.net(((seen - self.centre) / self.size).clip(-_FAR, _FAR))
        return out if self.choices else torch.tanh(out)

    @torch.no_grad()
    def act(self, seen: torch.Tensor) -> Float32[np.ndarray, "n k"] | Int[np.ndarray, " n"]:
        """What it would do: actions in [-1, 1], or numbers of choices."""
        out = self(seen)
        return (out.argmax(dim=1) if self.choices else out).cpu().numpy()

    def _fit(self, rng: np.random.Generator, seen: torch.Tensor, did: torch.Tensor) -> None:
        n = len(seen)
        held = np.arange(n) % _HELD == _HELD - 1
        learn, test = np.flatnonzero(~held), np.flatnonzero(held)
        did = did.long().ravel() if self.choices else did.float()
        optimiser = torch.optim.Adam(self.parameters(), lr=_RATE)
        steps = min(_STEPS, max(_FEWEST, n))
        fading = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, steps)
        for _ in range(steps):
            rows = learn[rng.integers(len(learn), size=min(_ROWS, len(learn)))]
            found = self(seen[rows])
            loss = cross_entropy(found, did[rows]) if self.choices else mse_loss(found, did[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            fading.step()
        rows = test if len(test) > 1 else learn
        with torch.no_grad():
            found, truth = self(seen[rows]), did[rows]
        if self.choices:
            self.skill = float((found.argmax(dim=1) == truth).float().mean())
        else:
            left = float(((found - truth) ** 2).mean())
            self.skill = 1 - left / max(float(truth.var(dim=0, correction=0).mean()), 1e-12)
            self.spread = left**0.5


def columns(seen: Any, space: spaces.Space) -> torch.Tensor:
    """Raw observations as rows of numbers, with choices one-hot and colours up to 1."""
    ready = preprocess_obs(_tensors(seen), space)
    if isinstance(ready, dict):
        return torch.cat([part.flatten(1) for _, part in sorted(ready.items())], dim=1)
    return ready.flatten(1)


def _tensors(seen: Any) -> Any:
    if isinstance(seen, dict):
        return {key: torch.as_tensor(part) for key, part in seen.items()}
    return torch.as_tensor(seen)
