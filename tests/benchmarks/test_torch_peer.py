import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.model.scaling import Memory, label_scales
from bers.model.training import Batches, climb, draw_batches, new_state, objective

torch = pytest.importorskip(
    "torch", reason="the peer needs PyTorch, which `make bench` installs and `make test` does not"
)

from torch_model import TorchModel  # noqa: E402


@pytest.fixture(scope="module", params=["standardised", "raw"])
def setting(request):
    rng = np.random.default_rng(0)
    sources = []
    for i, n in enumerate((300, 200)):
        x = rng.uniform(-4, 4, (n, 10))
        y = 3 + np.sin(x @ rng.normal(size=10)) + 0.1 * rng.normal(size=n)
        sources.append(Demonstrations(x, y, f"s{i}"))
    config = ModelConfig(hidden=(200, 200), batches=50, labels=request.param)
    return fit(sources, config=config), sources


@pytest.fixture
def batch(setting):
    model, sources = setting
    labels = label_scales(sources, config=model.config, memory=Memory())
    rng = np.random.default_rng(1)
    drawn = draw_batches(rng, sources, 1, inputs=model.inputs, labels=labels, config=model.config)
    return Batches(drawn.x[0], drawn.y[0], drawn.used[0])


def torch_batch(batch):
    return torch.tensor(batch.x), torch.tensor(batch.y, dtype=torch.float64)


@pytest.mark.parametrize("batched", [False, True])
def test_peer_has_the_same_objective(setting, batch, batched):
    model, sources = setting
    peer = TorchModel(model, sources, batched=batched)
    ours = float(objective(model.state.encoder, batch, config=model.config))
    theirs = peer.objective(*torch_batch(batch)).item()
    assert theirs == pytest.approx(ours, rel=1e-5)


@pytest.mark.parametrize("batched", [False, True])
def test_peer_climbs_to_the_same_weights(setting, batch, batched):
    model, sources = setting
    peer = TorchModel(model, sources, batched=batched)
    for _ in range(5):
        loss = -peer.objective(*torch_batch(batch))
        peer.adam.zero_grad()
        loss.backward()
        peer.adam.step()
    five = Batches(*(np.repeat(part[None], 5, axis=0) for part in (batch.x, batch.y, batch.used)))
    state, _ = climb(new_state(model.state.encoder, config=model.config), five, config=model.config)
    before = np.asarray(model.state.encoder.weights[1])
    ours = np.asarray(state.encoder.weights[1]) - before
    theirs = peer.layers[1].weight.detach().numpy().T - before
    assert np.linalg.norm(theirs - ours) < 1e-2 * np.linalg.norm(ours)


def test_peer_has_the_same_posteriors(setting):
    model, sources = setting
    ours = refine(model, sources, batches=0).heads
    for i, theirs in enumerate(TorchModel(model, sources).posteriors()):
        np.testing.assert_allclose(theirs.mu, ours[i].mu, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(theirs.Lam, ours[i].Lam, rtol=1e-4, atol=1e-4)
        assert theirs.alpha == ours[i].alpha
        assert float(theirs.beta) == pytest.approx(float(ours[i].beta), rel=1e-4)


def test_peer_trains(setting):
    model, sources = setting
    torch.manual_seed(0)
    peer = TorchModel(model, sources)
    peer.refine(subset=64)
    peer.train(20)
    assert all(torch.isfinite(head.mu).all() for head in peer.posteriors())
