"""A saved model gives back the same bits; anything else is refused by name."""

import json

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from bers import fit, load_model, refine, save_model
from bers.errors import FileError


@pytest.fixture(scope="module")
def model():
    from bers import Demonstrations, ModelConfig

    x = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    sources = [Demonstrations(x, x[:, i], name) for i, name in enumerate(["a", '"<b>\n'])]
    config = ModelConfig(hidden=(5,), latent_dim=3, batches=20, patience=10, skip=True)
    return fit(sources, config=config), sources


def test_round_trip_is_bit_exact_and_training_goes_on(model, tmp_path):
    model, sources = model
    save_model(model, tmp_path / "m.bers")
    back = load_model(tmp_path / "m.bers")
    assert back.names == model.names
    assert back.config == model.config
    assert repr(back) == repr(model)
    for a, b in zip(jax.tree.leaves(model.state), jax.tree.leaves(back.state), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    for part in ("mu", "U", "alpha", "beta"):
        np.testing.assert_array_equal(getattr(model.heads, part), getattr(back.heads, part))
    np.testing.assert_array_equal(model.history.scores, back.history.scores)
    one, two = refine(model, sources, batches=3), refine(back, sources, batches=3)
    np.testing.assert_array_equal(one.heads.mu, two.heads.mu)
    save_model(back, tmp_path / "again.bers")
    assert (tmp_path / "again.bers").read_bytes() == (tmp_path / "m.bers").read_bytes()


def test_every_kind_of_damage_is_named(model, tmp_path):
    path = tmp_path / "m.bers"
    save_model(model[0], path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in [*range(0, 400, 7), *rng.integers(0, len(whole), 100)]:
        broken = bytearray(whole)
        broken[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        with pytest.raises(FileError, match=r"m\.bers"):
            load_model(path)
    for keep in (0, 1, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:keep])
        with pytest.raises(FileError, match=r"m\.bers is damaged or not a BERS model"):
            load_model(path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file({"w": np.zeros(3)}, path)
    with pytest.raises(FileError, match="is not a BERS model"):
        load_model(path)
    save_file({"w": np.zeros(3)}, path, metadata={"bers": '{"format": "bers-model-1"}'})
    with pytest.raises(FileError, match="damaged or not a BERS model"):
        load_model(path)
    save_file({"w": np.zeros(3)}, path, metadata={"bers": "[]"})
    with pytest.raises(FileError, match="damaged or not a BERS model"):
        load_model(path)
    path.write_text(json.dumps({"hello": 1}))
    with pytest.raises(FileError, match="damaged or not a BERS model"):
        load_model(path)
    with pytest.raises(FileError, match="there is no model file"):
        load_model(tmp_path / "nowhere")


def test_a_folder_that_is_not_there_says_so(model, tmp_path):
    with pytest.raises(FileError, match="Check that the folder exists"):
        save_model(model[0], tmp_path / "no" / "m.bers")
    assert list(tmp_path.iterdir()) == []
