"""What a running policy does, kept as demonstrations: in memory, as Parquet, as a Minari data set.

Enters: a Gymnasium environment and the name of who acts in it. Leaves: the environment, unchanged
to whoever steps it, and a `Recording` of its episodes, one per demonstrator. Every way to disk
reads back to the same bits. With `keep`, each episode is on disk as soon as it is over.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import checked_name
from bers.data.demonstrations import Demonstrations
from bers.data.storage import save
from bers.data.transitions import STEP, Inputs
from bers.errors import ConfigError, DataError, DataWarning, FileError
from bers.integrations.gymnasium.episodes import Episode, Running, check_space, copied
from bers.integrations.gymnasium.minari import checked_id, folder_of, may_write, write_minari
from bers.text import printable

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import VectorEnv
except ImportError as error:
    raise ConfigError(
        "bers.integrations.gymnasium needs Gymnasium: pip install 'bers[gymnasium]'."
    ) from error

_TABLES = (".parquet", ".npz", ".csv")


class Recording:
    """The episodes of one demonstrator.

    Parameters
    ----------
    name
        Of the demonstrator.
    keep
        A folder that gets one Parquet file per episode, as soon as it is over: if the process is
        stopped, `bers.load(folder)` has all but the episode that was running.

    Examples
    --------
    >>> alice = Recording("alice")
    >>> env = Recorder(gymnasium.make("CartPole-v1"), alice)
    >>> _ = env.reset(seed=3)
    >>> for action in (0, 1, 0, 1):
    ...     _ = env.step(action)
    >>> alice
    Recording('alice', 1 episodes, 4 steps)
    >>> alice.demonstrations()
    Demonstrations('alice', n=4, k=10, y 1 to 1)
    """

    def __init__(self, name: str, *, keep: str | os.PathLike[str] | None = None) -> None:
        self.name = checked_name(name)
        self.env_spec: Any = None
        self.spaces: tuple[Any, Any] | None = None
        self._keep = None if keep is None else _fresh_folder(Path(keep))
        self._over: list[Episode] = []
        self._running: list[Running] = []
        self._process = os.getpid()

    @property
    def episodes(self) -> list[Episode]:
        """All of them; those that still run as if they were stopped here."""
        stopped = (running.stopped() for running in self._running)
        return [*self._over, *(one for one in stopped if one is not None)]

    def of(self, observation_space: Any, action_space: Any, env_spec: Any = None) -> "Recording":
        """Say what is recorded. A `Recorder` does so by itself.

        Parameters
        ----------
        observation_space, action_space
            Of the environment; the same ones at every call.
        env_spec
            Its `spec`, for Minari's metadata; the first one given is kept.

        Returns
        -------
        Recording
            This one.

        Examples
        --------
        >>> boxes = Recording("a").of(spaces.Box(0, 1, (2,)), spaces.Discrete(3))
        """
        check_space(observation_space, "observation")
        check_space(action_space, "action")
        if self.spaces not in (None, (observation_space, action_space)):
            raise ConfigError(
                f"the recording of {printable(self.name)!r} has other spaces. "
                "Make a recording for each kind of environment."
            )
        self.spaces = observation_space, action_space
        self.env_spec = env_spec if self.env_spec is None else self.env_spec
        return self

    def begin(self, observation: Any, seed: int | None) -> Running:
        """An episode starts.

        Parameters
        ----------
        observation
            The first one.
        seed
            What `reset` was given.

        Returns
        -------
        Running
            To `add` steps to, and to hand to `end`.

        Examples
        --------
        >>> recording = Recording("a").of(spaces.Discrete(3), spaces.Discrete(2))
        >>> running = recording.begin(0, seed=None)
        >>> running.add(1, 2, 0.5, False, True)
        >>> recording.end(running)
        >>> recording.episodes[0].total
        0.5
        """
        if os.getpid() != self._process:
            raise ConfigError(
                f"{printable(self.name)!r} is recorded in another process, where it would be "
                "lost. Use gymnasium.vector.SyncVectorEnv, not AsyncVectorEnv."
            )
        running = Running(observation, seed, *self._known_spaces())
        self._running.append(running)
        return running

    def end(self, running: Running) -> None:
        """An episode is over, or is given up; see `begin`.

        Parameters
        ----------
        running
            What `begin` gave; without a step it is dropped.
        """
        self._running = [other for other in self._running if other is not running]
        if (episode := running.stopped()) is not None:
            self.add(episode)

    def add(self, episode: Episode) -> None:
        """One more episode that is over.

        Parameters
        ----------
        episode
            With observations and actions in the shape of their spaces.

        Examples
        --------
        >>> from bers.integrations.gymnasium.episodes import ends
        >>> recording = Recording("a").of(spaces.Box(0, 1, (1,)), spaces.Discrete(2))
        >>> recording.add(Episode(
        ...     np.zeros((3, 1)), np.array([1, 0]), np.ones(2), *ends(2, terminated=True)))
        >>> recording
        Recording('a', 1 episodes, 2 steps)
        """
        self._known_spaces()
        self._over.append(episode)
        if self._keep is None:
            return
        try:
            path = self._keep / f"episode-{len(self._over) - 1:06d}.parquet"
            save(self._rows([episode], None, False), path)
        except DataError as problem:  # a long run is not ended for this
            warnings.warn(
                f"an episode of {printable(self.name)!r} is kept in memory only: {problem}",
                DataWarning,
                stacklevel=2,
            )

    def demonstrations(
        self, *, inputs: Inputs | None = None, drop_nonfinite: bool = False
    ) -> Demonstrations:
        """All steps as one source.

        Parameters
        ----------
        inputs, drop_nonfinite
            As in `Demonstrations.from_transitions`.

        Returns
        -------
        Demonstrations
            One row a step; an episode that still runs is truncated here.

        Examples
        --------
        >>> recording = Recording("a").of(spaces.Discrete(3), spaces.Discrete(2))
        >>> recording.begin(0, seed=None).add(1, 2, 0.5, False, False)
        >>> recording.demonstrations().payload["truncated"]
        array([ True])
        """
        episodes = self.episodes
        if not episodes:
            raise DataError(
                f"nothing was recorded of {printable(self.name)!r} yet. Call reset() and step() "
                "of the recorded environment first."
            )
        return self._rows(episodes, inputs, drop_nonfinite)

    def save(
        self,
        where: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        inputs: Inputs | None = None,
        drop_nonfinite: bool = False,
        dataset_id: str | None = None,
        author: str | None = None,
        algorithm: str | None = None,
        description: str | None = None,
    ) -> None:
        """Write what there is to where `bers.load` can read it.

        Parameters
        ----------
        where
            A .parquet, .npz or .csv file; "minari:ID" for Minari's own place; or a folder, which
            becomes a Minari data set, named as Minari's ids are: alice-v0.
        overwrite
            Replace what is there; a folder that holds other things never is.
        inputs, drop_nonfinite
            For files, as in `demonstrations`.
        dataset_id
            Minari's, for a folder; its name unless given.
        author, algorithm
            For Minari's metadata; the demonstrator's name unless given.
        description
            For Minari's metadata; who did it and where unless given.

        Examples
        --------
        >>> recording = Recording("a").of(spaces.Discrete(3), spaces.Discrete(2))
        >>> recording.begin(0, seed=None).add(1, 2, 0.5, False, False)
        >>> recording.save("a.parquet")
        >>> recording.save("a-v0")
        """
        text, path = str(where), Path(where)
        if not text.startswith("minari:") and path.suffix.lower() in _TABLES:
            may_write(path, overwrite=overwrite)
            save(self.demonstrations(inputs=inputs, drop_nonfinite=drop_nonfinite), path)
            return
        if inputs is not None or drop_nonfinite:
            raise ConfigError(
                "a Minari data set keeps all steps as they are. Give inputs and drop_nonfinite "
                "to bers.load when it is read."
            )
        if path.suffix.lower() in (".hdf5", ".h5"):
            raise ConfigError(f"{path}: a Minari data set is a folder. Name one, as alice-v0.")
        if not (episodes := self.episodes):
            self.demonstrations()  # says what is missing
        if text.startswith("minari:"):
            known = text.removeprefix("minari:")
            path = folder_of(known)
        else:
            known = checked_id(path.name if dataset_id is None else dataset_id)
        task = "" if self.env_spec is None else f" in {self.env_spec.id}"
        write_minari(
            path,
            episodes,
            spaces=self._known_spaces(),
            dataset_id=known,
            described={
                "demonstrator": self.name,
                "author": {self.name if author is None else author},
                "algorithm_name": self.name if algorithm is None else algorithm,
                "description": description or f"What {self.name} did{task}, recorded by BERS.",
            },
            env_spec=self.env_spec,
            overwrite=overwrite,
        )

    def __repr__(self) -> str:
        steps = sum(len(one) for one in self.episodes)
        name = printable(self.name)
        return f"Recording('{name}', {len(self.episodes)} episodes, {steps} steps)"

    def _known_spaces(self) -> tuple[Any, Any]:
        if self.spaces is None:
            raise ConfigError(
                f"the recording of {printable(self.name)!r} knows no spaces yet. Wrap an "
                "environment with Recorder(env, recording), or call recording.of(...)."
            )
        return self.spaces

    def _rows(
        self, episodes: list[Episode], inputs: Inputs | None, drop_nonfinite: bool
    ) -> Demonstrations:
        parts = [one.steps() for one in episodes]
        steps = (np.concatenate([part[name] for part in parts]) for name in STEP)
        count = None if inputs is not None else _choices(self._known_spaces()[1])
        return Demonstrations.from_transitions(
            *steps, name=self.name, inputs=inputs, n_actions=count, drop_nonfinite=drop_nonfinite
        )


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose episodes are recorded.

    Several environments may share one recording: a vector environment of copies is recorded by
    wrapping each. An episode that is left by a reset, or by close, is truncated there. Put it
    outside of all that changes rewards or observations, or what is recorded is not what the policy
    saw. Seeds given to `reset` are kept; infos are not.

    Parameters
    ----------
    env
        A Gymnasium environment, not a vector of them.
    recording
        Where episodes go; a name makes a new one, then found as `env.recording`.

    Examples
    --------
    >>> env = Recorder(gymnasium.make("Pendulum-v1"), "alice")
    >>> _ = env.reset(seed=0)
    >>> _ = env.step(np.zeros(1, np.float32))
    >>> env.close()
    >>> env.recording.demonstrations().payload["observation"].shape
    (1, 3)
    """

    def __init__(self, env: Any, recording: Recording | str) -> None:
        if isinstance(env, VectorEnv):
            raise ConfigError(
                "Recorder takes one environment, not a vector of them. Wrap each copy: "
                "SyncVectorEnv([lambda: Recorder(gymnasium.make(ID), recording)] * n)."
            )
        super().__init__(env)
        self.recording = Recording(recording) if isinstance(recording, str) else recording
        self.recording.of(env.observation_space, env.action_space, env.spec)
        self._running: Running | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment's own; a new episode is recorded.

        Parameters
        ----------
        seed, options
            Passed on; the seed is kept with the episode.

        Returns
        -------
        tuple
            Observation and info, as the environment gave them.
        """
        self._end()
        observation, info = self.env.reset(seed=seed, options=options)
        self._running = self.recording.begin(observation, seed)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment's own; the step is recorded.

        Parameters
        ----------
        action
            Passed on.

        Returns
        -------
        tuple
            Observation, reward, terminated, truncated and info, as the environment gave them.
        """
        if self._running is None:
            raise DataError(
                "step() outside of an episode cannot be recorded. Call reset() first; with "
                "Gymnasium's Autoreset, put the Recorder inside of it."
            )
        did = copied(action, self.env.action_space, "action")  # the environment may write over it
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._running.add(did, observation, reward, terminated, truncated)
        if terminated or truncated:
            self._end()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Close the environment. What was recorded stays, and can still be saved."""
        self._end()
        super().close()

    def _end(self) -> None:
        if self._running is not None:
            self.recording.end(self._running)
        self._running = None


def _choices(space: Any) -> int | None:
    """The number of columns of a choice, as `bers.data.formats.minari` has it."""
    if not isinstance(space, spaces.Discrete) or space.start < 0:
        return None
    return int(space.start + space.n)


def _fresh_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as problem:
        raise FileError(
            f"cannot make the folder {folder}: {problem.strerror}. Choose another."
        ) from problem
    if taken:
        raise FileError(
            f"{folder} holds something already, maybe an earlier recording: bers.load reads it. "
            "Keep this one in another folder."
        )
    return folder
