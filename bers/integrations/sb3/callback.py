"""Whom a learner of Stable-Baselines3 or SBX should learn from, found out while it learns.

Enters: a learner whose replay buffer is a `BersReplayBuffer`. Every few steps the rows that came in
are shown to the model of what the sources wanted, the weights are solved for anew, and the buffer
is told. The source that is worth most in the learner's task is tried, and followed while that
pays. Leaves: weights, whom the learner follows and the make-up of batches in the library's logger
and progress bar, and a file to go on from.
"""

import os
import time
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float64
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from bers.algorithm import Reuse, after
from bers.data.checks import whole
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Trim
from bers.data.transitions import Inputs
from bers.deprecated import old_config, old_words
from bers.errors import BersError, ConfigError, DataWarning, FileError, PrecisionWarning
from bers.integrations.sb3.buffer import BersReplayBuffer
from bers.integrations.sb3.doubts import LOOKS, Doubts, doubts_of, warn_of_equal_rewards
from bers.integrations.sb3.following import Following
from bers.integrations.sb3.imitation import Imitation, can_be_led, can_be_pulled
from bers.integrations.sb3.log import followed, record, show
from bers.integrations.sb3.sources import flat, in_space
from bers.integrity import read_sealed, write_sealed
from bers.learners.base import Experience
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.reuse.transitions import (
    BatchGuide,
    Mix,
    TransitionConfig,
    TransitionReuse,
    with_squares,
)
from bers.schedules import (
    Constant,
    Linear,
    Power,
    Schedule,
    schedule_named,
    schedule_of,
    schedule_parts,
)
from bers.trust.rules import Rule, without_gains
from bers.trust.trust import Trust
from bers.trust.worth import Worth, worth_of

_FORMAT = "bers-sb3-2"
_OVER = 1e-3  # a chance that is no longer worth the work
_FADED = 0.05  # the default chance, when all steps are done
_MANY_INPUTS = 2000
_POOR = 0.5
_LITTLE = 0.01  # a weight that is as good as none
_FORESEEN = 0.3  # of the rewards at a source's rows: below that they are not relabelled
_OF_LEADER = 0.5  # of the rows of sources, that are the leader's
_BEYOND = 0.25  # of the range of the sources' rewards
_TOLD = 2000  # rows of a source that tell its worth
_USUAL_LENGTH = 200  # steps of an episode, before one has ended

Follow = Literal["lead", "pull", "no"]
"""Whether the source that is worth most acts in some episodes, and the policy is held near it."""


def _old_words(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """`config` is `model`; the weight `clone` is what is done with the source that is followed.

    >>> _old_words({"clone": 0, "every": 50})
    ({'every': 50, 'follow': 'no'}, {'clone': 'follow='})
    """
    words, said = old_config(words)
    if "clone" not in words:
        return words, said
    words = dict(words)
    weight = words.pop("clone")
    if weight is not None:
        words.setdefault("follow", "pull" if weight else "no")
    return words, {**said, "clone": "follow="}


class BersCallback(BaseCallback):
    """Weights for the sources in a `BersReplayBuffer`, kept up to date.

    Parameters
    ----------
    inputs
        What the model of the rewards sees: a function of rows of observations, actions (in the
        environment's units, choices one-hot) and next observations; by default these, their
        squares, and all products of an observation's with an action's entries. The reward should
        be close to additive in it.
    every
        Steps between two looks.
    schedule
        p_m, where m counts looks: one of `bers.schedules`, a number or "paper"; by default a power
        that has come down to 5% when all steps are done.
    rule
        How to weigh: a name of `bers.rules.RULES`, or a `bers.rules.Rule`.
    relabel
        Replace the rewards of sources by what the target's head expects there.
    pessimism
        Standard deviations of that head to subtract.
    mix
        "row" or "batch": whether rows of sources are mixed into batches, or fill whole ones.
    follow
        What is done with the source that would earn most here: it leads some episodes and the
        policy is held near it while that pays ("lead"); only the latter ("pull"); nothing ("no").
    batches
        Of the model's training, per look; 0 leaves it as the sources made it, and the target's
        head then leans on theirs.
    subset
        Rows per source that refresh its head at each look.
    remember
        Rows of the target that the model keeps.
    trimmed
        Share of rows of least and greatest reward that the model is not shown.
    model
        `bers.ModelConfig`, or a `Model` that was fitted before on the same rows.
    seed
        The same one gives the same run; the learner's own unless given.
    verbose
        As in the library: 1 shows bars.

    Examples
    --------
    >>> BersCallback(every=500).every
    500
    """

    @old_words(_old_words)
    def __init__(
        self,
        *,
        inputs: Inputs | None = None,
        every: int = 200,
        schedule: Schedule | float | str | None = None,
        rule: str | Rule = "odds",
        relabel: bool = True,
        pessimism: float = 0.0,
        mix: Mix = "row",
        follow: Follow = "lead",
        batches: int = 0,
        subset: int | None = 1000,
        remember: int = 10_000,
        trimmed: float = 0.025,
        model: Model | ModelConfig | None = None,
        seed: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        self.inputs, self.seed = inputs, seed
        self.every = whole(every, "BersCallback(every=...)")
        self.remember = whole(remember, "BersCallback(remember=...)")
        self.schedule = None if schedule is None else schedule_named(schedule)
        self.handing = TransitionConfig(mix=mix, relabel=relabel, pessimism=pessimism)
        if not 0 <= trimmed < 0.5:
            raise ConfigError(f"BersCallback(trimmed=...) must be in [0, 0.5); got {trimmed}.")
        if follow not in get_args(Follow):
            raise ConfigError(
                f'BersCallback(follow=...) must be "lead", "pull" or "no"; got {follow!r}.'
            )
        self.trimmed, self.follow = trimmed, follow
        self._settings: dict[str, Any] = {
            "rule": without_gains(rule, "BersCallback"),
            "batches": batches,
            "subset": subset,
            "model": model or ModelConfig(hidden=(200, 200), skip=True),
            "remember": self.remember,
            "predicts": relabel,
        }
        self.reuse: Reuse | None = None
        self.names: list[str] = []
        self.explained = np.nan
        self.seconds = 0.0
        self.worth: Worth | None = None
        self.following: Following | None = None
        self._seen = self._looked = 0
        self.doubts: Doubts | None = None
        self._loaded: tuple[dict[str, np.ndarray], dict[str, Any]] | None = None

    # what a user looks at

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each source by its name, and of "nobody"."""
        if self.reuse is None:
            return {}
        trust = self.reuse.trust
        if len(trust.y) and not trust.target.n:  # nothing that can be compared
            return {**dict.fromkeys(self.names, 0.0), "nobody": 1.0}
        shares = {name: float(w) for name, w in zip(self.names, trust.weights, strict=True)}
        return {**shares, "nobody": trust.nobody}

    def save(self, path: str | os.PathLike[str]) -> None:
        """What was found out so far, and the random state; the sources' rows are not in the file.

        Save the learner and its buffer beside it, with `save` and `save_replay_buffer`.

        Parameters
        ----------
        path
            The file to write.
        """
        if self.reuse is None:
            raise ConfigError("there is nothing to save before the learner has begun to learn.")
        from bers.trust.files import plain, trust_parts

        arrays, settings = trust_parts(self.reuse.trust)
        about = {
            "trust": settings,
            "schedule": schedule_parts(self.reuse.schedule),
            "m": self.reuse.m,
            "digests": self._buffer().sources.digests,
            "stream": self.reuse.rng.bit_generator.state,
            "seen": self._seen,
            "looked": self._looked,
        }
        write_sealed(path, _FORMAT, arrays, plain(about))

    def resume(self, path: str | os.PathLike[str]) -> "BersCallback":
        """Go on from a file, with the next `learn`; settings and inputs must be those of then.

        Parameters
        ----------
        path
            What `save` wrote.

        Returns
        -------
        BersCallback
            This one.
        """
        self._loaded = read_sealed(path, _FORMAT, "a BERS callback")
        return self

    # what the library calls

    def _on_training_start(self) -> None:
        buffer, started = self._buffer(), time.perf_counter()
        if self.reuse is None or (buffer.added == 0 and self._loaded is None):  # a new learner
            self._begin(buffer)
        buffer.met = True
        # steps may be counted anew, and a learner may go on without its rows
        self._looked = min(self._looked, self.num_timesteps)
        self._seen = min(self._seen, buffer.added)
        self._tell(buffer)
        if buffer.imitation is not None:  # of a run that was broken off
            buffer.imitation.stop()
        buffer.imitation = self._imitation(buffer)
        self.seconds += time.perf_counter() - started

    def _on_training_end(self) -> None:
        buffer = self._buffer()
        self._doubt()
        buffer.follow(None)  # who goes on without us goes on alone
        if buffer.imitation is not None:
            self.seconds += buffer.imitation.seconds
            buffer.imitation = buffer.imitation.stop()

    def _on_step(self) -> bool:
        buffer = self._buffer()
        if buffer.imitation is not None:
            assert self.following is not None
            self.following.stepped(self._paid(), self.locals["dones"])
            if self.following.new:
                buffer.imitation.become()
                self.following.new = False
        if self.num_timesteps - self._looked >= self.every and not self._over:
            started = time.perf_counter()
            self._looked = self.num_timesteps
            with warnings.catch_warnings():
                # the default inputs hold squares of columns that may be squares already
                warnings.simplefilter("ignore", PrecisionWarning)
                self._look(buffer)
            self.seconds += time.perf_counter() - started
        return True

    # the work

    @property
    def _open(self) -> bool:
        """Whether sources matter now."""
        return self.reuse is not None and self.reuse.p_m > _OVER

    @property
    def _over(self) -> bool:
        """Whether they never will again: of a schedule of the user's own, nobody knows."""
        if self.reuse is None:
            return True
        return not self._open and isinstance(self.reuse.schedule, Power | Linear | Constant)

    def _buffer(self) -> BersReplayBuffer:
        if not isinstance(self.model, OffPolicyAlgorithm):
            raise ConfigError(
                f"{type(self.model).__name__} has no replay buffer, so it cannot learn from what "
                "others did. Use SAC, TD3, DDPG or DQN."
            )
        buffer = getattr(self.model, "replay_buffer", None)
        if not isinstance(buffer, BersReplayBuffer):
            raise ConfigError(
                "BersCallback needs a learner with a BersReplayBuffer: pass "
                "replay_buffer_class=BersReplayBuffer and "
                'replay_buffer_kwargs={"sources": [...]} when you make the learner.'
            )
        return buffer

    def _begin(self, buffer: BersReplayBuffer) -> None:
        # a saved learner takes names and digests of the sources along, not their rows
        self.model.replay_buffer_kwargs["sources"] = buffer.sources  # pyright: ignore
        self.names = buffer.sources.names
        rows = [self._rows(buffer, source) for source in buffer.sources]
        trim = Trim(self.trimmed, 1 - self.trimmed)
        kept = [_without_extremes(source, trim) for source in rows]
        x = np.concatenate([source.x for source in rows])
        r = np.concatenate([source.y for source in rows])
        offer = TransitionReuse(x, r, np.array([source.n for source in rows]), self.handing)
        if self._loaded is not None:
            trust, schedule, m = self._resumed(buffer, kept)
        else:
            seed = self.seed if self.seed is not None else self.model.seed
            trust = Trust(
                kept,
                robust=False,
                keep=_range(kept),
                rng=np.random.default_rng(seed),
                progress=None if self.verbose else False,
                **self._settings,
            )
            schedule, m = self._schedule(), 0
            self._seen = buffer.added
            self._looked = self.num_timesteps
        assert isinstance(trust.rng, np.random.Generator)
        self.reuse = Reuse(trust, offer, schedule, trust.rng, m)
        self._told = _told(buffer.sources, rows)
        self.doubts = doubts_of(
            [self._seen_by(buffer, one) for one in buffer.sources], _range(kept)
        )
        if trust.rule.needs == "posteriors":
            warn_of_equal_rewards(self.names, [one.y for one in rows])

    def _imitation(self, buffer: BersReplayBuffer) -> Imitation | None:
        """What leads the learner, unless nobody shall, or nobody ever can."""
        assert self.reuse is not None
        if self.follow == "no" or self._over:
            return None
        if not can_be_led(self.model) and not can_be_pulled(self.model):
            raise ConfigError(
                f"{type(self.model).__name__} can neither be led nor pulled. Pass "
                'BersCallback(follow="no"), or use a learner of Stable-Baselines3.'
            )
        if self.following is None or self.following.envs != self.model.n_envs:
            self.following = Following(
                np.random.default_rng([0 if self.model.seed is None else self.model.seed, 7]),
                self.model.n_envs,
                forced=self.reuse.trust.rule.needs != "posteriors",
                acts=self.follow == "lead",
            )
        return Imitation(self.model, buffer, self.following)

    def _paid(self) -> Float64[np.ndarray, " envs"]:
        """The last rewards, as the task pays them."""
        normal = self.model._vec_normalize_env
        rewards = self.locals["rewards"] if normal is None else normal.get_original_reward()
        return np.asarray(rewards, np.float64)

    def _resumed(
        self, buffer: BersReplayBuffer, sources: list[Demonstrations]
    ) -> tuple[Trust, Schedule, int]:
        from bers.trust.files import stream_of

        assert self._loaded is not None
        arrays, about = self._loaded
        try:
            if about["digests"] != buffer.sources.digests:
                raise FileError("the file was saved with other sources. Give those of then.")
            self._seen, self._looked = int(about["seen"]), int(about["looked"])
            trust = Trust.of_parts(arrays, about["trust"], sources, stream_of(about["stream"]))
            return trust, schedule_of(about["schedule"]), int(about["m"])
        except BersError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise FileError(f"the file is damaged: {error}. Save it again.") from error

    def _schedule(self) -> Schedule:
        if self.schedule is not None:
            return self.schedule
        left = self.model._total_timesteps - self.num_timesteps
        looks = max(1.0, left / self.every)
        return Power(_FADED ** (1 / looks))

    def _seen_by(self, buffer: BersReplayBuffer, source: Demonstrations) -> np.ndarray:
        """What a source saw, as rows of numbers."""
        space, what = buffer.observation_space, f"observation of {source.name!r}"
        return flat(in_space(source.payload["observation"], space, what), space)

    def _rows(self, buffer: BersReplayBuffer, source: Demonstrations) -> Demonstrations:
        """A source as the model sees it."""
        seen, acts = buffer.observation_space, buffer.action_space
        before, action, later = (
            flat(in_space(source.payload[name], space, f"{name} of {source.name!r}"), space)
            for name, space in (("observation", seen), ("action", acts), ("next_observation", seen))
        )
        return Demonstrations(self._x(before, action, later), source.payload["reward"], source.name)

    def _x(
        self, before: np.ndarray, action: np.ndarray, later: np.ndarray
    ) -> Float64[np.ndarray, "n k"]:
        if self.inputs is not None:
            return np.asarray(self.inputs(before, action, later), np.float64)
        k, A = before.shape[1], action.shape[1]
        if k * A > _MANY_INPUTS:
            raise ConfigError(
                f"observations of {k} and actions of {A} numbers are too many for the default "
                "inputs of the reward's model. Pass BersCallback(inputs=...): a function of rows "
                "of observations, actions and next observations that leaves a few numbers each."
            )
        return with_squares(before, action, later).astype(np.float64)

    def _look(self, buffer: BersReplayBuffer) -> None:
        """One iteration of Algorithm 1's Bayesian part."""
        assert self.reuse is not None
        *step, reward = buffer.since(self._seen)
        self._seen = buffer.added
        if not len(reward):
            return
        x = self._x(*step)
        self.explained = self._explained(x, reward)
        assert self.doubts is not None
        self.doubts.look(step[0], reward)
        if self.doubts.looks == LOOKS:
            self._doubt()
        self.reuse = after(self.reuse, Experience(x, reward))
        self.worth = self._worth(reward)
        if self.following is not None:
            self._choose()
        self._tell(buffer)
        self._log(buffer)

    def _worth(self, reward: Float64[np.ndarray, " n"]) -> Worth | None:
        """What each source would earn in an episode of the learner's task. [Eq. worth]"""
        assert self.reuse is not None
        trust, following = self.reuse.trust, self.following
        if not trust.has_target or not trust.target.n:
            return None
        assert trust.model is not None
        steps = (0 if following is None else following.steps) or _USUAL_LENGTH
        level = np.nan if following is None else following.level
        return worth_of(
            np.random.default_rng(len(trust.y)),
            trust.head,
            trust.model,
            self._told,
            names=self.names,
            horizon=steps,
            than=float(reward.mean()) * steps if np.isnan(level) else level,
        )

    def _choose(self) -> None:
        """Whom to follow from now on, if anybody new."""
        assert self.reuse is not None
        assert self.following is not None
        following, a = self.following, self.reuse.trust.weights
        if following.forced:
            several = np.count_nonzero(a > _LITTLE) > 1  # then somebody else may be next
            if not following.trying and (following.leader is None or several):
                who = int(following.rng.choice(len(a), p=a / a.sum()))
                following.try_out(who, np.nan if self.worth is None else self.worth.mean[who])
        elif self.worth is not None:
            lines = self.worth.sources
            better = np.nan_to_num([one.prob_better for one in lines])
            able = np.array([one.foreseen > 0 for one in lines])
            following.spread = float(np.std(self.reuse.trust.y)) * following.steps
            following.consider(np.nan_to_num(self.worth.mean, nan=-np.inf), better, able)
            following.alike = 1.0 if following.leader is None else float(a[following.leader])

    def _tell(self, buffer: BersReplayBuffer) -> None:
        """Hand the buffer its guide; before the target is known, and in the end, none."""
        reuse = self.reuse
        if reuse is None or not self._open or not reuse.trust.target.n:
            return buffer.follow(None)
        a = self._shares(reuse.trust.weights)
        guide = _prepared(replace(reuse.guide(), a=a), a)
        buffer.follow(guide, chunk=getattr(self.model, "batch_size", None))

    def _shares(self, weights: Float64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
        """Of each source, of the rows that batches take from sources.

        Half of them are the leader's, whose dynamics the learner needs most. Where rewards cannot
        be foreseen, rows are of no use.
        """
        a = np.where(weights < _LITTLE, 0.0, weights)
        following = self.following
        if following is not None and not following.forced and following.follows:
            a = (1 - _OF_LEADER) * a
            a[following.leader] += _OF_LEADER
        if self.worth is not None and self.handing.relabel:
            a = a * np.array([not one.foreseen < _FORESEEN for one in self.worth.sources])
        return a

    def _explained(self, x: np.ndarray, reward: Float64[np.ndarray, " n"]) -> float:
        """Share of the variance of new rewards that the target's head foresaw."""
        assert self.reuse is not None
        trust, spread = self.reuse.trust, reward.var()
        if not trust.has_target or spread <= 0:
            return np.nan
        found = 1 - float(np.mean((reward - trust.relabel(x)) ** 2) / spread)
        if self.reuse.m == 5 and found < _POOR:
            warnings.warn(
                f"the model foresees only {max(found, 0):.0%} of the variance of the rewards, so "
                "the weights of sources are not to be trusted. Pass BersCallback(inputs=...) with "
                "numbers in which the reward is close to additive.",
                DataWarning,
                stacklevel=2,
            )
        return found

    def _doubt(self) -> None:
        """Say what makes the weights say little, if weights are found at all."""
        assert self.reuse is not None
        if self.doubts is not None and self.reuse.trust.rule.needs == "posteriors":
            self.doubts.tell()

    def _log(self, buffer: BersReplayBuffer) -> None:
        assert self.reuse is not None
        record(
            self.logger, self.weights, buffer.drawn, p_m=self.reuse.p_m, explained=self.explained
        )
        assert self.doubts is not None
        self.logger.record("bers/outside", self.doubts.share)
        if self.worth is not None and self.following is not None:
            followed(self.logger, self.worth, self.following)
        buffer.drawn[:] = 0
        show(self.locals.get("callback"), self.weights, self.reuse.p_m)


def _range(sources: list[Demonstrations]) -> tuple[float, float]:
    """Rewards that the model of the weights can speak of: the sources', and some beyond."""
    low, high = min(s.y.min() for s in sources), max(s.y.max() for s in sources)
    more = _BEYOND * (high - low)
    return float(low - more), float(high + more)


def _told(sources: Any, rows: list[Demonstrations]) -> list[Demonstrations]:
    """The first rows of each source, in whole episodes if all of them end, as worth wants them."""
    ends = [
        np.asarray(one.payload["terminated"], bool) | np.asarray(one.payload["truncated"], bool)
        for one in sources
    ]
    whole_ones = all(one[:_TOLD].any() for one in ends)
    told = []
    for source, seen, end in zip(sources, rows, ends, strict=True):
        n = min(seen.n, _TOLD)
        kept: dict[str, Any] = {}
        if whole_ones:
            n = int(np.flatnonzero(end[:_TOLD])[-1]) + 1
            kept = {name: source.payload[name][:n] for name in ("terminated", "truncated")}
        told.append(Demonstrations(seen.x[:n], seen.y[:n], seen.name, payload=kept))
    return told


def _without_extremes(source: Demonstrations, trim: Trim) -> Demonstrations:
    """All rows, where the rare ones are the only ones that are paid differently."""
    kept = source.take(trim.fit(source.y).keep(source.y))
    return source if np.ptp(kept.y) == 0 < np.ptp(source.y) else kept


def _prepared(guide: BatchGuide, a: Float64[np.ndarray, " N"]) -> BatchGuide:
    """The same guide with the rewards of all rows that can be drawn worked out."""
    rewards = np.zeros(int(guide.counts.sum()))
    rows = np.flatnonzero(np.repeat(a > 0, guide.counts))
    rewards[rows] = guide.rewards(rows)
    return replace(guide, rewards=partial(np.take, rewards))
