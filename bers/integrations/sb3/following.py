"""Whom a learner follows, and how freely: one source at a time, tried before it is believed.

Enters: a learner, what each source is worth in its task, and the returns of its episodes. Leaves: a
leader or none, which steps of an episode he leads, and how far the policy may be from him.
[Eq. freedom]

A source that should earn more than the learner does leads one episode from its first step to its
last. If he earns more, he is followed: he leads the first steps of every other episode, fewer and
fewer, and the policy is held within a distance of him. The distance grows while the learner's own
episodes earn what he earns, and shrinks when they do not. So imitation ends when it is no longer
needed, and comes back when it is.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float64

FIRST, FREE = 0.02, 1.0  # mean squared distance of actions in [-1, 1]: at first, and as good as any
_GROWS, _GROWS_WELL, _SHRINKS = 1.4, 2.0, 0.4  # freedom, per episode of the learner's own
_ALIKE = 0.05  # of weight that a leader lacks, from which he wants something else
_SOONER, _SLACKER = 4.0, 2.0  # times more of speed and of slack beside one who wants nothing alike
_CAREFUL = 0.5  # what a fall leaves of the speed with which freedom grows
_SLACK = 0.1  # of what the leader is ahead of the start
_FALL = 2.0  # margins, that one episode alone may be below the leader
_LATELY = 3  # own episodes that are judged together
_AGAIN = 0.1  # freedom of a learner that fell after it was free
_EVERY = 3  # episodes, of which the leader leads one
_LONG = 1000  # steps, after which an episode that goes on is counted all the same
_AHEAD = 0.5  # of the spread, that a source must earn more than the learner
_BETTER = 0.5  # chance of being worth more than the learner, to be tried
_MUCH_BETTER = 0.95  # the same for a source that may take the leader's place


@dataclass
class Following:
    """The state of it all; changes with every step."""

    rng: np.random.Generator
    envs: int
    forced: bool = False
    """Whether the leader is whom the rule names, however he does."""
    acts: bool = True
    """Whether the leader acts in some episodes."""
    leader: int | None = None
    trying: bool = False
    """Whether the leader still has to show what he earns here."""
    freedom: float = FIRST
    alike: float = 1.0
    """How far the leader wants what the learner wants: his weight."""
    earned: dict[int, list[float]] = field(default_factory=dict)
    """Returns of whole episodes that a source led."""
    own: deque[float] = field(default_factory=lambda: deque(maxlen=50))
    """Returns of the learner's own episodes."""
    judged: deque[float] = field(default_factory=lambda: deque(maxlen=_LATELY))
    """Those since the leader was chosen."""
    start: float = np.nan
    """What the learner earned by itself before it followed anybody."""
    steps: int = 0
    """Of an episode, on average."""
    spread: float = 0.0
    """What an episode earns whose every reward is one standard deviation above the mean of those
    that the learner saw, less what an episode earns with the mean."""
    new: bool = False
    """Whether a leader was just chosen, whom the policy should become."""

    def __post_init__(self) -> None:
        self._return = np.zeros(self.envs)
        self._length = np.zeros(self.envs, int)
        self._led = np.zeros(self.envs, int)
        self._until = np.zeros(self.envs)
        self._turn, self._speed = 0, 1.0
        self._lengths: deque[int] = deque(maxlen=50)

    @property
    def follows(self) -> bool:
        """Whether the policy is held near the leader now."""
        return self.leader is not None and not self.trying and self.freedom < FREE

    @property
    def reference(self) -> float:
        """What the leader earns here, by the episodes that he led."""
        found = self.earned.get(-1 if self.leader is None else self.leader)
        return float(np.mean(found)) if found else np.nan

    @property
    def level(self) -> float:
        """What the learner's own episodes earned lately."""
        return float(np.mean(list(self.own)[-_LATELY:])) if self.own else np.nan

    def leads(self) -> Bool[np.ndarray, " envs"]:
        """In which environments the next action is the leader's."""
        if self.leader is None:
            return np.zeros(self.envs, bool)
        return self._length < self._until

    def acted(self, led: Bool[np.ndarray, " envs"]) -> None:
        """Whose the last actions were."""
        self._led += led

    def stepped(self, rewards: Float64[np.ndarray, " envs"], ends: np.ndarray) -> None:
        """After a step of all environments."""
        self._return += rewards
        self._length += 1
        for i in np.flatnonzero(np.asarray(ends, bool) | (self._length >= _LONG)):
            self._lengths.append(int(self._length[i]))
            self.steps = round(np.mean(self._lengths))
            share = self._led[i] / self._length[i]
            self._ended(float(self._return[i]), share)
            self._return[i] = self._length[i] = self._led[i] = 0
            self._until[i] = self._next_lead()

    def consider(
        self,
        worth: Float64[np.ndarray, " N"],
        better: Float64[np.ndarray, " N"],
        able: Bool[np.ndarray, " N"],
    ) -> None:
        """After a look: by what each source is worth, the chance that it is more than the
        learner's own level, and whether that can be said at all."""
        if self.trying:
            return
        free = [i for i in range(len(worth)) if able[i] and i not in self.earned]
        if self.leader is None:
            least = self._least()
            fine = [i for i in free if better[i] > _BETTER and not worth[i] < least]
        else:
            most = max(self.reference, self.level) + self._margin()
            fine = [i for i in free if worth[i] > most and better[i] > _MUCH_BETTER]
        if fine:
            best = max(fine, key=lambda i: worth[i])
            self.try_out(best, float(worth[best]))

    def try_out(self, source: int, worth: float) -> None:
        """Let a source lead one episode in each environment, from now on; or, if sources may not
        act, take him at his worth."""
        if np.isnan(self.start):
            self.start = self.level
        self.leader, self.trying = source, self.acts
        if self.acts:
            self._until = np.full(self.envs, np.inf)
        else:
            self.earned[source] = [worth]
            self._take(source)

    def _take(self, source: int) -> None:
        self.leader, self.freedom, self.new = source, FIRST, True
        self.judged.clear()
        self._speed = 1.0

    def _ended(self, earned: float, share: float) -> None:
        leader = self.leader
        if share == 0:
            self.own.append(earned)
            if leader is not None and not self.trying:
                self._judge(earned)
        if share < 1 or leader is None:
            return
        self.earned.setdefault(leader, []).append(earned)
        if not self.trying:
            return
        self.trying = False
        best = max(self.earned, key=lambda i: float(np.mean(self.earned[i])))
        if not self.forced and np.mean(self.earned[best]) < self._least():
            self.leader = None
        else:
            self._take(leader if self.forced else best)

    def _least(self) -> float:
        """What a source must earn to be followed: whoever is hardly better only stands in the
        way of learning."""
        return self.level + _AHEAD * self.spread

    def _margin(self) -> float:
        behind = 0.0 if np.isnan(self.start) else abs(self.reference - self.start)
        found = self.earned.get(-1 if self.leader is None else self.leader, [])
        return _SLACK * behind + (float(np.std(found)) if len(found) > 1 else 0.0)

    def _judge(self, earned: float) -> None:
        self.judged.append(earned)
        level, margin = float(np.median(self.judged)), self._margin()
        unlike = 1 - self.alike  # whoever wants something else is soon in the way
        sooner = 1 + min(1.0, unlike / _ALIKE) * (1 + _SOONER * unlike)
        slack = (1 + _SLACKER * unlike) * margin  # and to get past him may cost more for a while
        if earned < self.reference - _FALL * slack:
            level = earned
        if level >= self.reference + margin:
            self._speed = 1.0
            self.freedom *= _GROWS_WELL**sooner
        elif level >= self.reference - slack:
            self.freedom *= _GROWS ** (self._speed * sooner)
        else:
            self._speed *= _CAREFUL
            again = _AGAIN if self.freedom >= FREE else _SHRINKS * self.freedom
            self.freedom = max(again, FIRST)
            self.judged.clear()
        self.freedom = min(self.freedom, FREE)

    def _next_lead(self) -> float:
        """Steps of the next episode that are the leader's."""
        if self.leader is None or not self.acts or self.freedom >= FREE:
            return 0.0
        if self.trying:
            return np.inf
        self._turn += 1
        if self._turn % _EVERY:
            return 0.0
        left = np.log(FREE / max(self.freedom, FIRST)) / np.log(FREE / FIRST)
        share = self.rng.uniform(0, 2 * left)
        return np.inf if share >= 1 else np.floor(share * self.steps)
