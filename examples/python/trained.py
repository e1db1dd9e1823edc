"""Is a trained generator good enough? A notebook in cells; run by `make -C examples python`.

A motor was recorded: speed and current. Two generators are fitted to one half of the recording and tested on
the other half, which they never saw: a bell curve, and a small network that is trained here, in NumPy.
"""
# %% The recording. Two regimes, idle and drive; the current grows with the square of the speed.
import sys

import numpy as np

import npksd


def record(n, rng):
    drive = rng.random(n) < 0.6
    speed = np.where(drive, rng.normal(2.2, 0.4, n), rng.normal(0.8, 0.15, n))
    current = 0.5 * speed**2 + (0.1 + 0.1 * speed) * rng.normal(size=n)
    return np.column_stack([speed, current])


NAMES = ["speed", "current"]
recording = record(2200, np.random.default_rng(2026))
training, held_out = recording[:2000], recording[2000:]

# %% First try: a bell curve with the right means and covariances.
mean, covariance = training.mean(axis=0), np.cov(training.T)
bell = npksd.test(held_out, lambda n, rng: rng.multivariate_normal(mean, covariance, n), names=NAMES)
print("a bell curve:", bell, sep="\n")


# %% Second try: a mixture density network, one for the speed and one for the current given the speed.
class MixtureNetwork:
    """A density of y given x: the network outputs weights, means and widths of four bell curves."""

    def __init__(self, rng, hidden=24, bells=4):
        self.weights = [rng.normal(size=(1, hidden)), rng.normal(size=hidden),
                        0.3 * rng.normal(size=(hidden, 3 * bells)),
                        np.concatenate([np.zeros(bells), np.linspace(-1, 1, bells), np.zeros(bells)])]

    def bells(self, x):
        w1, b1, w2, b2 = self.weights
        hidden = np.tanh(x[:, None] @ w1 + b1)
        logits, means, widths = np.split(hidden @ w2 + b2, 3, axis=1)
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, share / share.sum(axis=1, keepdims=True), means, np.exp(np.clip(widths, -4, 3))

    def gradient(self, x, y):
        """Of the mean negative log-likelihood, with respect to each of the weights."""
        hidden, share, means, widths = self.bells(x)
        z = (y[:, None] - means) / widths
        joint = share * np.exp(-z**2 / 2) / widths
        blame = joint / (joint.sum(axis=1, keepdims=True) + 1e-300)
        out = np.hstack([share - blame, -blame * z / widths, blame * (1 - z**2)]) / len(x)
        back = out @ self.weights[2].T * (1 - hidden**2)
        return [x[None] @ back, back.sum(axis=0), hidden.T @ out, out.sum(axis=0)]

    def train(self, x, y, rng, steps, rate=0.01):
        """Adam, 200 rows per step, with shrinking steps."""
        first, second = ([np.zeros_like(w) for w in self.weights] for _ in range(2))
        for step in range(1, steps + 1):
            rows = rng.integers(len(x), size=200)
            pace = rate * (1 - step / (steps + 1))
            for w, g, m, v in zip(self.weights, self.gradient(x[rows], y[rows]), first, second):
                m += 0.1 * (g - m)
                v += 0.001 * (g**2 - v)
                w -= pace * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        return self

    def sample(self, x, rng):
        _, share, means, widths = self.bells(x)
        chosen = (rng.random((len(x), 1)) > share.cumsum(axis=1)[:, :-1]).sum(axis=1)[:, None]
        mean, width = (np.take_along_axis(a, chosen, axis=1)[:, 0] for a in (means, widths))
        return mean + width * rng.normal(size=len(x))


centre, spread = training.mean(axis=0), training.std(axis=0)


def trained(steps):
    """A generator (n, rng) -> rows, after this many training steps."""
    rng = np.random.default_rng(1)
    speed, current = ((training - centre) / spread).T
    nothing = np.zeros(len(training))
    first = MixtureNetwork(rng).train(nothing, speed, rng, steps)
    second = MixtureNetwork(rng).train(speed, current, rng, steps)

    def generate(n, rng):
        x = first.sample(np.zeros(n), rng)
        return centre + spread * np.column_stack([x, second.sample(x, rng)])
    return generate


# %% When to stop training? The p-value on held-out rows says when they can no longer be told apart.
results = {}
for steps in (20, 100, 2500):
    results[steps] = npksd.test(held_out, trained(steps), names=NAMES)
    print(f"\na network after {steps} steps:", results[steps], sep="\n")

# %% "Not rejected" is worth what the test could have seen. Against the bell curve 200 rows suffice ...
network = trained(2500)
strong = npksd.power(200, 2, network, lambda n, rng: rng.multivariate_normal(mean, covariance, n), runs=50)
# ... but a current that is 2 % too high would mostly pass: for that, record more.
weak = npksd.power(200, 2, network, lambda n, rng: network(n, rng) * (1, 1.02), runs=50)
print(f"\n200 rows: a bell curve is rejected {strong.power:.0%} of the time, a current 2 % too high {weak.power:.0%}")

# %% What this script promises.
if not (bell.reject and results[20].reject and not results[2500].reject and strong.power > 0.9 > 0.5 > weak.power):
    sys.exit("trained.py: not the answers that its text promises")
