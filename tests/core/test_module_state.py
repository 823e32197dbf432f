"""state_dict and load_state_dict, pickling and copying: programs that must say the same as under PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
from collections import OrderedDict
from typing import Any

import pytest
from both import agree, refused

import tenora

pytestmark = pytest.mark.oracle


def net(f: Any, start: float = 0.0) -> Any:
    made = f.nn.Sequential(OrderedDict(first=f.nn.Linear(2, 3), norm=f.nn.BatchNorm1d(3)))
    made.register_buffer("steps", f.zeros(1, dtype=f.int64))
    made.register_buffer("scratch", f.ones(2), persistent=False)
    made.shared = made.first
    with f.no_grad():
        for parameter in made.parameters():
            parameter.fill_(start)
    return made


def keys_and_metadata(f: Any) -> Any:
    state = net(f).state_dict()
    return list(state), dict(state._metadata), type(state).__name__


def destination_and_prefix(f: Any) -> Any:
    made = net(f)
    mine: Any = OrderedDict()
    found = made.state_dict(destination=mine, prefix="net.")
    old: Any = OrderedDict()
    old._metadata = OrderedDict()
    made.state_dict(old, "old.", True)
    kept = made.state_dict(keep_vars=True)["first.weight"]
    return (
        found is mine,
        list(mine),
        list(old),
        dict(old._metadata),
        kept is made.first.weight,
        kept.requires_grad,
    )


def state_shares_storage(f: Any) -> Any:
    made = net(f)
    state = made.state_dict()
    with f.no_grad():
        made.first.weight.add_(1)
    return state["first.weight"], state["first.weight"].requires_grad


def strict_and_not(f: Any) -> Any:
    made, state = net(f), net(f, 2.0).state_dict()
    del state["first.bias"]
    state["more"] = f.ones(1)
    state["first.more.weight"] = f.ones(1)
    found = made.load_state_dict(state, strict=False)
    return (
        sorted(found.missing_keys),
        sorted(found.unexpected_keys),
        made.norm.weight,
        refused(lambda: made.load_state_dict(state)),
        str(made.load_state_dict(made.state_dict())),
    )


def sizes_that_do_not_fit(f: Any) -> Any:
    made, state = net(f), net(f).state_dict()
    state["first.weight"] = f.ones(3, 3)
    return refused(lambda: made.load_state_dict(state, strict=False)), refused(
        lambda: made.load_state_dict([])
    )


def what_the_text_names(f: Any) -> Any:
    made, state = net(f), net(f).state_dict()
    state["norm.weight"] = f.ones(4)
    state["more"] = state.pop("first.bias")
    try:
        made.load_state_dict(state)
    except RuntimeError as error:
        parts = ('Missing key(s) in state_dict: "first.bias"', 'Unexpected key(s) in state_dict: "more"')
        return [part in str(error) for part in (*parts, "size mismatch for norm.weight", "Sequential")]
    return None


def assigning(f: Any) -> Any:
    made, state = net(f), net(f, 3.0).double().state_dict()
    made.first.bias.requires_grad_(False)
    weight = made.first.weight
    made.load_state_dict(state, assign=True)
    same = made.first.weight is weight
    grads = [parameter.requires_grad for parameter in made.parameters()]
    return same, made.first.weight, made.norm.running_mean, grads, type(made.first.weight).__name__


def casting_while_loading(f: Any) -> Any:
    made = net(f)
    weight = made.first.weight
    made.load_state_dict(net(f, 3.0).double().state_dict())
    return made.first.weight is weight, made.first.weight


def scalars_of_old_checkpoints(f: Any) -> Any:
    made = f.nn.Module()
    made.scale = f.nn.Parameter(f.tensor(1.0))
    made.load_state_dict({"scale": f.tensor([4.0])})
    return made.scale


def batches_that_old_checkpoints_lack(f: Any) -> Any:
    layer = f.nn.BatchNorm1d(2)
    state = dict(layer.state_dict())
    del state["num_batches_tracked"]
    return layer.load_state_dict(state), layer.num_batches_tracked, layer._version


def extra_state(f: Any) -> Any:
    class Counting(f.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    made = f.nn.Sequential(Counting())
    made[0].count = 7
    state = made.state_dict()
    other = f.nn.Sequential(Counting())
    other.load_state_dict(state)
    without = refused(lambda: other.load_state_dict({}))
    plain = f.nn.Sequential(f.nn.Identity())
    return state, other[0].count, without, refused(lambda: plain.load_state_dict(state))


def overridden_methods(f: Any) -> Any:
    seen: list[Any] = []

    class Old(f.nn.Linear):
        _version = 3

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "kernel"] = destination.pop(prefix + "weight")

        def _load_from_state_dict(
            self, state_dict: Any, prefix: str, local_metadata: Any, *lists: Any
        ) -> None:
            seen.append((prefix, local_metadata.get("version")))
            if prefix + "kernel" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)
            seen.append(self.weight.sum().item())

    made = f.nn.Sequential(Old(2, 2))
    with f.no_grad():
        made[0].weight.fill_(2.0)
    state = made.state_dict()
    other = f.nn.Sequential(Old(2, 2))
    keys = list(state)
    other.load_state_dict(state)
    return keys, seen, other[0].weight, list(state)


def hooks_of_saving(f: Any) -> Any:
    seen: list[Any] = []
    made = net(f)
    made.first.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    made.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__delitem__("steps"))
    made._register_state_dict_hook(lambda m, state, prefix, meta: seen.append(dict(meta)))
    first = list(made.state_dict())
    made._register_state_dict_hook(lambda m, state, prefix, meta: {"all": 1})
    second = made.state_dict()
    bad = f.nn.Identity()
    bad.register_state_dict_post_hook(lambda m, state, prefix, meta: {})
    return first, second, seen, refused(bad.state_dict)


def hooks_of_loading(f: Any) -> Any:
    seen: list[Any] = []

    def rename(state_dict: Any, prefix: str, *_: Any) -> None:
        state_dict[prefix + "bias"] = state_dict.pop(prefix + "offset")

    def note(module: Any, state_dict: Any, prefix: str, meta: Any, strict: bool, *lists: Any) -> None:
        seen.append(
            (type(module).__name__, sorted(state_dict), prefix, strict, [list(given) for given in lists])
        )

    def forgive(module: Any, keys: Any) -> None:
        seen.append((module.first.weight.sum().item(), list(keys.missing_keys)))
        keys.missing_keys.clear()

    made, state = net(f), net(f, 2.0).state_dict()
    state["first.offset"] = state.pop("first.bias")
    del state["norm.weight"], state["shared.bias"]
    made.first._register_load_state_dict_pre_hook(rename)
    made.first.register_load_state_dict_pre_hook(note)
    made.register_load_state_dict_post_hook(forgive)
    del made.shared
    state.pop("shared.weight")
    return made.load_state_dict(state), seen, made.first.bias, made.norm.weight


def whole_modules(f: Any) -> Any:
    made = net(f, 0.5)
    made.eval()
    made.first.weight.grad = f.ones(3, 2)
    results: list[Any] = []
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), copy.copy(made)):
        results.append(
            (
                list(other.state_dict()),
                other.shared is other.first,
                other.training,
                other.first.weight,
                other.first.weight is made.first.weight,
                sorted(other._non_persistent_buffers_set),
                other.first(f.ones(1, 2)),
            )
        )
    return results


def shared_parameters(f: Any) -> Any:
    made = f.nn.Sequential(f.nn.Linear(2, 2), f.nn.Linear(2, 2))
    made[1].weight = made[0].weight
    buffer = io.BytesIO()
    pickle.dump(made, buffer)
    again = [copy.deepcopy(made), pickle.loads(buffer.getvalue())]
    return [other[0].weight is other[1].weight for other in again], len(list(again[0].parameters()))


PROGRAMS = {
    program.__name__: program
    for program in (
        keys_and_metadata, destination_and_prefix, state_shares_storage, strict_and_not, sizes_that_do_not_fit,
        what_the_text_names, assigning, casting_while_loading, scalars_of_old_checkpoints,
        batches_that_old_checkpoints_lack, extra_state, overridden_methods, hooks_of_saving, hooks_of_loading,
        whole_modules, shared_parameters,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, backend: str) -> None:
    result = agree(PROGRAMS[name])
    assert not isinstance(result, Exception), result


def test_a_state_that_fits_in_part_writes_nothing() -> None:
    made = net(tenora)
    state = net(tenora, 2.0).state_dict()
    state["norm.running_var"] = tenora.ones(4)
    with pytest.raises(RuntimeError, match=r"norm\.running_var"):
        made.load_state_dict(state)
    assert made.first.weight.sum().item() == 0.0


def test_modules_go_without_the_collector() -> None:
    before = tenora.live()["tensors"]
    made = net(tenora)
    made.register_forward_hook(lambda *_: None)
    assert tenora.live()["tensors"] > before
    del made
    assert tenora.live()["tensors"] == before
