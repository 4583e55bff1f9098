"""A planar arm with two joints whose tip should be at a goal: the authors' later experiment.

Enters: a state (two angles, two speeds), torques. Leaves: the next state and a reward, 1 less four
times the distance from tip to goal. Two uniform rods, no gravity, viscous joints; the outer joint
has stops. The equations of motion are integrated by Runge and Kutta's fourth-order rule.
[Eq. reacher]
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int, PRNGKeyArray

from bers.errors import ConfigError

State = Float32[Array, "4"]
"""Angle of the inner joint, of the outer joint relative to it, and the speeds of both."""

TORQUES = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)], np.float32)
"""What the nine choices mean: inner and outer torque, in shares of the strongest."""


@dataclass(frozen=True)
class Reacher:
    """One arm and one goal.

    >>> round(Reacher(goal=(0.14, 0.0)).reach, 3)
    0.21
    """

    goal: tuple[float, float] = (0.04, 0.12)
    """Where the tip should be, in metres from the inner joint."""
    inner: float = 0.1
    """Length of the inner link, in metres (as published)."""
    outer: float = 0.11
    """From the outer joint to the tip (as published)."""
    mass: float = 0.27
    """Of each link, in kilograms: a rod of 1 cm radius, of steel. Not published; with this and the
    next, plain DQN gains about what it is published to gain."""
    damping: float = 0.02
    """Torque per speed in each joint, in N m s; a full torque is held at 2.5 radians per second.
    Not published."""
    torque: float = 0.05
    """The strongest, in N m (as published)."""
    stop: float = 3.0
    """Greatest angle of the outer joint, either way, in radians."""
    seconds: float = 0.0165
    """Of one step (as published)."""
    parts: int = 8
    """Of a step, for the integration."""
    horizon: int = 500
    """Steps of an episode (as published)."""

    def __post_init__(self) -> None:
        place = tuple(float(v) for v in self.goal)
        if len(place) != 2 or not np.isfinite(place).all():
            raise ConfigError(f"Reacher(goal=...) must be two finite numbers; got {self.goal}.")
        object.__setattr__(self, "goal", place)
        for name in ("inner", "outer", "mass", "torque", "stop", "seconds"):
            if not getattr(self, name) > 0:
                raise ConfigError(
                    f"Reacher({name}=...) must be greater than 0; got {getattr(self, name)}."
                )
        if self.damping < 0 or self.parts < 1 or self.horizon < 1:
            raise ConfigError(
                "Reacher needs damping of 0 or more, and parts and horizon of 1 or more."
            )

    @property
    def reach(self) -> float:
        """How far the tip can get."""
        return self.inner + self.outer


def reset(key: PRNGKeyArray) -> State:
    """At rest: the inner joint anywhere, the outer one within a quarter turn (as published).

    >>> reset(jax.random.key(0)).shape
    (4,)
    """
    inner_key, outer_key = jax.random.split(key)
    inner = jax.random.uniform(inner_key, minval=-jnp.pi, maxval=jnp.pi)
    outer = jax.random.uniform(outer_key, minval=-jnp.pi / 2, maxval=jnp.pi / 2)
    return jnp.array([inner, outer, 0.0, 0.0], jnp.float32)


def step(
    s_tm1: State, torques: Float[Array, "2"], *, config: Reacher
) -> tuple[State, Float32[Array, ""]]:
    """One step; torques are shares of the strongest, and are clipped to [-1, 1].

    >>> s, r = step(jnp.zeros(4), jnp.zeros(2), config=Reacher(goal=(0.21, 0.0)))
    >>> s.tolist(), round(float(r), 4)
    ([0.0, 0.0, 0.0, 0.0], 1.0)
    """
    push = config.torque * jnp.clip(torques, -1.0, 1.0)
    length = config.seconds / config.parts
    s = s_tm1
    for _ in range(config.parts):
        s = _stopped(_runge_kutta(s, push, length, config), config)
    s_t = s.at[0].set(jnp.mod(s[0] + jnp.pi, 2 * jnp.pi) - jnp.pi)
    return s_t, reward(s_t, config=config)


def reward(s: Float[Array, "4"], *, config: Reacher) -> Float32[Array, ""]:
    """1 at the goal, less with the distance (as published)."""
    away = tip(s, config=config) - jnp.asarray(config.goal)
    return 1.0 - 4.0 * jnp.sqrt(jnp.sum(away**2) + 1e-12)


def tip(s: Float[Array, "4"], *, config: Reacher) -> Float[Array, "2"]:
    """Where the tip is.

    >>> [round(float(v), 3) for v in tip(jnp.array([0.5, -0.5, 0.0, 0.0]), config=Reacher())]
    [0.198, 0.048]
    """
    return elbow(s, config=config) + config.outer * _direction(s[0] + s[1])


def elbow(s: Float[Array, "4"], *, config: Reacher) -> Float[Array, "2"]:
    """Where the outer joint is."""
    return config.inner * _direction(s[0])


def energy(s: Float[Array, "4"], *, config: Reacher) -> Float[Array, ""]:
    """Of motion, in joules: ½ ω'M(θ)ω. There is no other."""
    omega = s[2:]
    return 0.5 * omega @ _inertia(s[1], config) @ omega


def _direction(angle: Any) -> Array:
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def _inertia(outer_angle: Array, config: Reacher) -> Float[Array, "2 2"]:
    """M(θ) of two uniform rods."""
    m, a, b = config.mass, config.inner, config.outer
    own = m * b**2 / 3
    across = m * a * b / 2 * jnp.cos(outer_angle)
    both = m * a**2 / 3 + m * a**2 + own + 2 * across
    return jnp.array([[both, own + across], [own + across, own]])


def _slope(s: Array, push: Float[Array, "2"], config: Reacher) -> Array:
    """The state's rate of change: M(θ) dω/dt = τ − c(θ, ω) − dω. [Eq. reacher]"""
    omega = s[2:]
    swing = config.mass * config.inner * config.outer / 2 * jnp.sin(s[1])
    coriolis = swing * jnp.array([-(2 * omega[0] + omega[1]) * omega[1], omega[0] ** 2])
    M = _inertia(s[1], config)
    force = push - coriolis - config.damping * omega
    determinant = M[0, 0] * M[1, 1] - M[0, 1] ** 2
    turned = jnp.array(
        [M[1, 1] * force[0] - M[0, 1] * force[1], M[0, 0] * force[1] - M[0, 1] * force[0]]
    )
    return jnp.concatenate([omega, turned / determinant])


def _runge_kutta(s: Array, push: Array, length: float, config: Reacher) -> Array:
    slope = partial(_slope, push=push, config=config)
    first = slope(s)
    second = slope(s + length / 2 * first)
    third = slope(s + length / 2 * second)
    fourth = slope(s + length * third)
    return s + length / 6 * (first + 2 * second + 2 * third + fourth)


def _stopped(s: Array, config: Reacher) -> Array:
    """The outer joint does not turn beyond its stops.

    It hits them without bouncing: the blow that ends its own speed turns the inner joint too.
    """
    M = _inertia(s[1], config)
    hits = (jnp.abs(s[1]) > config.stop) & (s[1] * s[3] > 0)
    blow = jnp.array([s[3] * M[0, 1] / M[0, 0], -s[3]])
    omega = s[2:] + jnp.where(hits, blow, 0.0)
    outer = jnp.clip(s[1], -config.stop, config.stop)
    return jnp.concatenate([s[:1], outer[None], omega])


@dataclass(frozen=True)
class ReacherTask:
    """The arm as a task of control with nine choices.

    >>> task = ReacherTask(Reacher())
    >>> task.observe(task.reset(jax.random.key(0))).shape, task.actions
    ((6,), 9)
    """

    arm: Reacher

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        return self.arm.horizon

    @property
    def actions(self) -> int:
        """Choices."""
        return len(TORQUES)

    @property
    def outputs(self) -> int:
        """Numbers that the last layer of a cloned policy must give."""
        return self.actions

    def reset(self, key: PRNGKeyArray) -> State:
        """A first state."""
        return reset(key)

    def step(
        self, key: PRNGKeyArray, s_tm1: State, a_tm1: Int[Array, ""]
    ) -> tuple[State, Float32[Array, ""]]:
        """One step with one of the choices."""
        return step(s_tm1, jnp.asarray(TORQUES)[a_tm1], config=self.arm)

    def observe(self, s: State) -> Float32[Array, "6"]:
        """Cosines and sines of the angles, and speeds."""
        return jnp.concatenate([jnp.cos(s[:2]), jnp.sin(s[:2]), s[2:] / 5.0])

    def surprise(self, outputs: Float[Array, "9"], action: Int[Array, ""]) -> Float[Array, ""]:
        """Cross-entropy: how little a policy with these outputs expected a choice."""
        return -jax.nn.log_softmax(outputs)[action]
