from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from sidrec.core.errors import ArtifactError
from sidrec.training.weights import copied, frozen_hash, learned, put_back, read_weights, restored, write_weights


def network(frozen_value: float = 1.0, dtype: torch.dtype = torch.float32) -> nn.Module:
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2).to(dtype))
    nn.init.constant_(module[2].weight, frozen_value)
    nn.init.zeros_(module[2].bias)
    module[2].requires_grad_(False)
    return module


def test_what_learns_and_every_buffer_is_kept():
    kept = {"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert set(learned(network())) == kept


def test_copies_come_back_and_the_frozen_part_stays():
    module, other = network(), network(frozen_value=5.0)
    before = copied(learned(module))
    put_back(other, before)
    assert all(torch.equal(tensor, before[name]) for name, tensor in learned(other).items())
    assert (other[2].weight == 5.0).all()
    with torch.no_grad():
        module[0].weight.zero_()
    assert before["0.weight"].abs().sum() > 0


@pytest.mark.parametrize("change", ["less", "more"])
def test_weights_of_another_network_are_refused(change):
    tensors = learned(network())
    tensors = {**tensors, "9.weight": torch.zeros(1)} if change == "more" else dict(list(tensors.items())[1:])
    with pytest.raises(KeyError, match=r"9\.weight" if change == "more" else r"0\.weight"):
        put_back(network(), tensors)


def test_the_hash_follows_the_frozen_values_alone():
    assert frozen_hash(nn.Linear(2, 2)) == ""
    assert frozen_hash(network()) == frozen_hash(network())  # the trainable part begins at random
    hashes = {frozen_hash(network()), frozen_hash(network(2.0)), frozen_hash(network(dtype=torch.bfloat16))}
    assert len(hashes) == 3


def test_a_file_holds_what_was_learned_and_names_the_frozen_part(tmp_path):
    module, again = network(), network()
    write_weights(module, tmp_path / "w.safetensors")
    assert set(load_file(tmp_path / "w.safetensors")) == set(learned(module))
    read_weights(again, tmp_path / "w.safetensors")
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in module.state_dict().items())
    with pytest.raises(ArtifactError, match="on top of a frozen network with other weights"):
        read_weights(network(frozen_value=2.0), tmp_path / "w.safetensors")


def test_a_network_larger_than_its_weights_is_given_up_while_it_is_built(tmp_path):
    built = []

    def endless() -> nn.Module:
        layers = nn.ModuleList()
        while True:
            layers.append(nn.Linear(500, 500))
            built.append(1)

    write_weights(nn.Linear(500, 500), tmp_path / "w.safetensors")
    with pytest.raises(ArtifactError, match="the settings ask for more weights than there are"):
        restored(endless, tmp_path / "w.safetensors")
    assert len(built) < 10
    assert restored(lambda: nn.Linear(500, 500), tmp_path / "w.safetensors").in_features == 500
    assert nn.Linear(3000, 3000).in_features == 3000  # the limit ends with its block


def test_a_network_on_top_of_a_frozen_one_may_be_larger_than_its_file(tmp_path):
    def build() -> nn.Module:
        module = nn.Sequential(nn.Linear(2000, 2000), nn.Linear(2, 2))
        nn.init.zeros_(module[0].weight)
        nn.init.zeros_(module[0].bias)
        module[0].requires_grad_(False)
        return module

    module = build()
    write_weights(module, tmp_path / "w.safetensors")
    assert torch.equal(restored(build, tmp_path / "w.safetensors")[1].weight, module[1].weight)
