"""Accelerometers that nobody wore: simulated motion of simulated people. No real recording is in these data.

A person has a cadence, stiffness, sway and asymmetry; a device sits on the person in any orientation and has errors of
its own. What is simulated is the specific force that an accelerometer feels, in g, along (forward, sideways, up) of
the body, from simple mechanics:

    rest    gravity, breathing, fidgeting, a change of posture now and then, sitting down with a thump
    walk    an inverted pendulum: the body rises and falls once a step and sways once a stride; heel strikes ring
    run     a bouncing mass: half a sine of ground force in each contact, nothing in flight; its mean is gravity
    stairs  steps that push longer (up) or land harder (down), a little slower, with the trunk leaning and rocking
    shake   the device swung by hand around an axis, 2 to 6 Hz
    fall    support lost while the body turns, an impact of 3 to 9 g that rings, then lying still
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter, lfilter_zi
from scipy.spatial.transform import Rotation

RATE = 50  # samples a second
FINE = 8  # simulated steps for each sample: impacts are shorter than a sample
CLASSES = ("rest", "walk", "run", "stairs", "shake", "fall")

Random = np.random.Generator


@dataclass(frozen=True)
class Person:
    """What does not change from one minute to the next."""

    cadence: float  # steps a second of a walk
    lift: float  # metres that the body rises in a step
    stiffness: float  # Hz: how a heel strike rings
    damping: float
    impact: float  # g
    sway: float  # g
    asymmetry: float  # of the two legs
    lean: float  # radians
    loose: float  # Hz: how the device swings in its pocket


@dataclass(frozen=True)
class Device:
    """How the sensor is worn and how wrong it is."""

    mounting: Rotation
    gain: np.ndarray  # (3, 3), cross-axis sensitivity too
    bias: np.ndarray  # (3,) g
    noise: float  # g
    limit: float  # g: clips


def person(rng: Random) -> Person:
    return Person(
        cadence=rng.normal(1.8, 0.18), lift=rng.uniform(0.012, 0.045), stiffness=rng.uniform(7, 18),
        damping=rng.uniform(0.12, 0.5), impact=rng.uniform(0.1, 0.7), sway=rng.uniform(0.03, 0.25),
        asymmetry=rng.normal(0, 0.12), lean=rng.normal(0, 0.12), loose=rng.uniform(3, 20),
    )  # fmt: skip


def device(rng: Random) -> Device:
    return Device(
        mounting=Rotation.random(random_state=rng.integers(1 << 31)),
        gain=np.eye(3) + rng.normal(0, 0.015, (3, 3)), bias=rng.normal(0, 0.03, 3),
        noise=rng.uniform(0.003, 0.015), limit=8.0,
    )  # fmt: skip


def _steps(rng: Random, t: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """The phase in steps, with a rhythm that wanders by a few percent, and its rate."""
    slow = np.interp(t, np.linspace(0, t[-1], 2 + int(t[-1])), rng.normal(1, 0.02, 2 + int(t[-1])))
    return np.cumsum(rate * slow) * (t[1] - t[0]) + rng.uniform(0, 2), rate * slow


def _ring(phase: np.ndarray, rate: np.ndarray, hertz: float, damping: float) -> np.ndarray:
    """A damped oscillation after each whole number of the phase."""
    since = (phase % 1) / rate * 2 * np.pi * hertz
    return np.exp(-damping * since) * np.cos(since)


def rest(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    force = np.tile([0.0, 0.0, 1.0], (len(t), 1))
    force[:, 2] += rng.uniform(0, 0.006) * np.sin(2 * np.pi * rng.uniform(0.2, 0.35) * t)
    amount, when, takes = rng.normal(0, 0.35, 2), rng.uniform(0, 2 * t[-1]), rng.uniform(0.5, 2)
    turn = 1 / (1 + np.exp(-np.clip((t - when) * 6 / takes, -30, 30)))
    if rng.random() < 0.3:  # the end of sitting down, or something set down next to it
        since = np.maximum(t - when, 0) * 2 * np.pi * p.stiffness
        force[:, 2] += np.where(t > when, rng.uniform(0.3, 2.5) * np.exp(-p.damping * since) * np.cos(since), 0)
    fidget = rng.uniform(0, 0.08) * np.sin(2 * np.pi * rng.uniform(0.3, 2) * t + rng.uniform(0, 6))
    return Rotation.from_euler("xy", turn[:, None] * amount + fidget[:, None] * [1, 0.5]).apply(force)


def walk(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    effort = rng.uniform(0.55, 1.3)
    phase, rate = _steps(rng, t, p.cadence * effort**0.5)
    slope = rng.normal(0, 0.08)
    leg = 1 + p.asymmetry * np.sign(np.sin(np.pi * phase))
    rise = p.lift * effort * (2 * np.pi * rate) ** 2 / 9.81
    ring = _ring(phase, rate, p.stiffness, p.damping) * p.impact * effort * leg
    up = 1 + rise * leg * np.cos(2 * np.pi * (phase - 0.08)) + 0.3 * rise * np.cos(4 * np.pi * phase + 0.7) + 0.6 * ring
    forward = 0.6 * rise * np.sin(2 * np.pi * (phase - 0.05)) - 0.5 * ring
    side = p.sway * np.sin(np.pi * phase) + 0.15 * ring * np.sign(np.sin(np.pi * phase))
    rock = np.stack([0.04 * np.sin(np.pi * phase), p.lean + slope + 0.04 * np.cos(2 * np.pi * phase)], 1)
    return Rotation.from_euler("xy", rock).apply(np.stack([forward, side, up], 1))


def run(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    effort = rng.uniform(0.8, 1.25)
    phase, rate = _steps(rng, t, rng.uniform(1.35, 1.6) * p.cadence)
    duty = np.clip(rng.normal(0.62, 0.06) / effort**0.5, 0.4, 0.85)
    inside = (phase % 1) / duty
    leg = 1 + p.asymmetry * np.sign(np.sin(np.pi * phase))
    push = np.where(inside < 1, np.pi / 2 / duty * np.sin(np.pi * np.clip(inside, 0, 1)), 0) * leg
    ring = _ring(phase, rate, 1.3 * p.stiffness, p.damping) * 2 * p.impact * effort
    up = push + ring
    forward = np.where(inside < 1, -0.5 * effort * np.sin(2 * np.pi * inside), 0) - 0.3 * ring
    side = 2 * p.sway * np.sin(np.pi * phase)
    rock = np.stack([0.08 * np.sin(np.pi * phase), p.lean + 0.12 + 0.05 * np.cos(2 * np.pi * phase)], 1)
    return Rotation.from_euler("xy", rock).apply(np.stack([forward, side, up], 1))


def stairs(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    climbing = rng.random() < 0.5
    phase, rate = _steps(rng, t, p.cadence * (rng.uniform(0.65, 0.95) if climbing else rng.uniform(0.75, 1.1)))
    leg = 1 + (p.asymmetry + 0.1) * np.sign(np.sin(np.pi * phase))
    if climbing:  # one long push a step, little impact, leaning forward
        push = 0.35 * np.sin(np.pi * (phase % 1)) ** 2 - 0.175 + 0.12 * np.sin(2 * np.pi * phase)
        push *= rng.uniform(0.7, 1.3)
        ring = rng.uniform(0.2, 0.6) * p.impact * _ring(phase, rate, p.stiffness, p.damping)
        lean, rocking = p.lean + rng.uniform(0.05, 0.35), rng.uniform(0.05, 0.12)
    else:  # the body drops onto each step
        drop = (phase % 1) ** 3
        push = -rng.uniform(0.3, 0.6) * (drop - 0.25)
        ring = rng.uniform(0.6, 1.5) * (0.2 + p.impact) * _ring(phase, rate, p.stiffness, p.damping)
        lean, rocking = p.lean + rng.uniform(-0.1, 0.05), rng.uniform(0.04, 0.08)
    forward = 0.12 * np.sin(2 * np.pi * phase + 0.5) - 0.35 * ring
    side = 1.4 * p.sway * np.sin(np.pi * phase)
    rock = np.stack([rocking * np.sin(np.pi * phase), lean + rocking * np.cos(2 * np.pi * phase)], 1)
    return Rotation.from_euler("xy", rock).apply(np.stack([forward, side, 1 + (push + ring) * leg], 1))


def shake(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    phase, _ = _steps(rng, t, rng.uniform(2, 6))
    axis = Rotation.random(random_state=rng.integers(1 << 31)).as_matrix()
    swing = rng.uniform(0.1, 0.6) * np.sin(2 * np.pi * phase)  # radians about the elbow or wrist, 0.1 to 0.4 m away
    radius = rng.uniform(0.1, 0.4)
    speed = np.gradient(swing, t)
    tangential, centripetal = radius * np.gradient(speed, t) / 9.81, radius * speed**2 / 9.81
    force = np.tile([0.0, 0.0, 1.0], (len(t), 1)) + tangential[:, None] * axis[0] + centripetal[:, None] * axis[1]
    return Rotation.from_rotvec(swing[:, None] * axis[2]).apply(force)


def fall(rng: Random, p: Person, t: np.ndarray) -> np.ndarray:
    """In the middle of the time; before it the person stands or walks."""
    before = (walk if rng.random() < 0.6 else rest)(rng, p, t)
    takes, impact = rng.uniform(0.35, 0.7), t[-1] * rng.uniform(0.45, 0.55)
    going = np.clip((t - (impact - takes)) / takes, 0, 1)
    support = 1 - (1 - rng.uniform(0.1, 0.5)) * np.sin(np.pi / 2 * going) ** 2  # of what carried the body
    after = t - impact
    lying = np.tile([0.0, 0.0, 1.0], (len(t), 1))
    force = np.where((after < 0)[:, None], before * support[:, None], lying)
    hertz, damping = rng.uniform(6, 14), rng.uniform(0.2, 0.5)
    since = np.maximum(after, 0) * 2 * np.pi * hertz
    hit = np.where(after >= 0, rng.uniform(3, 9) * np.exp(-damping * since) * np.cos(since), 0)
    way = rng.normal(0, 0.35, 3) + [0, 0, 1]
    force = force + hit[:, None] * way / np.linalg.norm(way)
    turn = rng.uniform(0.9, 1.7) * np.where(after < 0, going**2, 1)
    heading = rng.uniform(0, 2 * np.pi)
    axis = np.array([np.cos(heading), np.sin(heading), 0])
    return Rotation.from_rotvec(turn[:, None] * axis).apply(force)


MOTIONS: dict[str, Callable[[Random, Person, np.ndarray], np.ndarray]] = {
    "rest": rest, "walk": walk, "run": run, "stairs": stairs, "shake": shake, "fall": fall,
}  # fmt: skip


def simulate(rng: Random, motion: str, who: Person, seconds: float) -> np.ndarray:
    """(samples, 3) of the force that the body feels, averaged over each sample as a sensor's filter does."""
    n = round(seconds * RATE)
    force = MOTIONS[motion](rng, who, np.arange(n * FINE) / (RATE * FINE))
    force = _swung(force, who.loose)
    return force.reshape(n, FINE, 3).mean(1)


def _swung(force: np.ndarray, hertz: float) -> np.ndarray:
    """A device that is not fixed follows the body as a damped spring does: what it feels is filtered."""
    w = np.tan(np.pi * hertz / (RATE * FINE))  # a second-order low pass with damping 0.3, bilinear
    a0 = 1 + 0.6 * w + w * w
    b, a = np.array([w * w, 2 * w * w, w * w]) / a0, np.array([a0, 2 * (w * w - 1), 1 - 0.6 * w + w * w]) / a0
    start = lfilter_zi(b, a)[:, None] * force[:1]
    return lfilter(b, a, force, axis=0, zi=start)[0]


def sensed(rng: Random, force: np.ndarray, worn: Device) -> np.ndarray:
    """(samples, 3) float32 in g as the device gives them: rotated, scaled, noisy, in steps of 1/4096 g, clipped."""
    turned = worn.mounting.apply(force) @ worn.gain.T + worn.bias
    noisy = turned + rng.normal(0, worn.noise, turned.shape)
    return np.clip(np.rint(noisy * 4096) / 4096, -worn.limit, worn.limit - 1 / 4096).astype(np.float32)


def windows(seed: int, people: int, each: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """(count, 3, samples) and classes: every person does everything `each` times, each time with another device."""
    rng = np.random.default_rng(seed)
    x, y = [], []
    for _ in range(people):
        who = person(rng)
        for label, motion in enumerate(CLASSES):
            for _ in range(each):
                force = simulate(rng, motion, who, 2 * samples / RATE)
                late = rng.uniform(0.25, 0.75) if motion == "fall" else rng.uniform(0, 1)
                start = int(late * samples)
                x.append(sensed(rng, force[start : start + samples], device(rng)).T)
                y.append(label)
    return np.stack(x), np.array(y)


def recording(seed: int, plan: list[tuple[str, float]]) -> np.ndarray:
    """One person's minute or so: motions one after the other, the device stays where it is."""
    rng = np.random.default_rng(seed)
    who, worn = person(rng), device(rng)
    force = np.concatenate([simulate(rng, motion, who, seconds) for motion, seconds in plan])
    return sensed(rng, force, worn)
