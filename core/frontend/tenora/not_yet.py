"""Names of PyTorch's that tenora does not have yet, by package, and what to do meanwhile.

Families that programs ask for, no list of all: other names are likely typos. A name goes from here when it comes.
"""

from __future__ import annotations

_CELL = "Write the cell as a Module of nn.Linear layers and loop over the steps (examples/char_rnn.py)."
_BLOCKS = "Build it from nn.MultiheadAttention, nn.LayerNorm and nn.Linear."
_LEAVE = "Leave it out: calls are traced into programs without it."
_ONE_PROCESS = "Train in one process, and ask for nothing of it."
_DTYPE = "Use tenora.tensor(..., dtype=...), or .to(dtype)."
_FORMAT = "Leave it out: kernels choose the order in memory that suits them."
_FUNCTIONAL = "Use tenora.autograd.grad and tenora.autograd.functional."


def _each(names: str, remedy: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), remedy)


NOT_YET: dict[str, dict[str, str]] = {
    "tenora": {
        **_each("compile jit", _LEAVE),
        **_each("distributed multiprocessing", _ONE_PROCESS),
        "amp": "Convert the model and its input: .to(tenora.bfloat16).",
        "autocast": "Convert the model and its input: .to(tenora.bfloat16).",
        "backends": "Leave its switches out; tenora.use_backend chooses the backend.",
        "distributions": "Draw with tenora.randn, bernoulli, multinomial; write the log-probability out.",
        "newaxis": "Write None.",
        "typename": "Use x.dtype, or type(x).__name__.",
        "hub": "Fetch the file yourself and use tenora.load.",
        "masked": "Use tenora.where and masked_fill before the reduction.",
        "testing": "Use tenora.allclose.",
        "vmap": "Give the op a batch dimension, or loop.",
        **_each("memory_format channels_last channels_last_3d contiguous_format preserve_format", _FORMAT),
        **_each("set_num_threads get_num_threads", "Set OMP_NUM_THREADS before the start."),
        **_each("use_deterministic_algorithms are_deterministic_algorithms_enabled", "Leave it out."),
        **_each(
            "FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor ByteTensor "
            "BoolTensor",
            _DTYPE,
        ),
    },
    "tenora.cuda": {"amp": "Convert the model and its input: .to(tenora.bfloat16)."},
    "tenora.nn": {
        **_each("RNN LSTM GRU RNNCell LSTMCell GRUCell RNNBase RNNCellBase", _CELL),
        **_each(
            "Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer",
            _BLOCKS,
        ),
    },
    "tenora.nn.parallel": _each("DistributedDataParallel", _ONE_PROCESS),
    "tenora.nn.utils": _each(
        "rnn", "Pad the sequences to one length with nn.functional.pad and mask the loss."
    ),
    "tenora.autograd": _each("Variable", "Use the tensor itself, with requires_grad=True."),
    "tenora.func": {
        **_each("grad grad_and_value hessian jacfwd jacrev jvp vjp linearize", _FUNCTIONAL),
        "vmap": "Give the op a batch dimension, or loop.",
    },
    "tenora.utils": {
        "checkpoint": "Call the layers directly: their activations are kept.",
        "tensorboard": "Write the numbers to a file, or use tenora.utils.progress.",
        "model_zoo": "Fetch the file yourself and use tenora.load.",
    },
}
