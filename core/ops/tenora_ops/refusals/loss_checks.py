"""Losses of sequences and margins: lengths, labels, classes and reductions."""

from __future__ import annotations

from typing import Any

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_FRAMES = -reals(5, 2, 4)  # (T, N, C)
_LABELS, _INPUTS, _TARGETS = np.array([[1, 2, 3], [3, 1, 0]]), np.array([5, 4]), np.array([3, 2])
_ROW = np.array([1, 2, 3, 3, 1])
_ALONE, _ONE_INPUT, _ONE_TARGET = -reals(5, 4), np.array(5), np.array(3)


def _ctc(
    frames: Any = _FRAMES,
    labels: Any = _LABELS,
    inputs: Any = _INPUTS,
    targets: Any = _TARGETS,
    **options: Any,
) -> Call:
    return Call(frames, labels, inputs, targets, **options)


_CTC = {
    "an_unknown_reduction": refusal("value", _ctc(reduction="average"), _ctc(reduction="none")),
    "frames_of_rank_1": refusal("runtime", _ctc(frames=-reals(4)), _ctc()),
    "frames_of_rank_4": refusal("runtime", _ctc(frames=_FRAMES[None]), _ctc()),
    "no_frames": refusal("runtime", _ctc(frames=_FRAMES[:0], inputs=wholes(2) * 0), _ctc()),
    "a_negative_blank": refusal("runtime", _ctc(blank=-1), _ctc(blank=0)),
    "a_blank_beyond_the_classes": refusal("runtime", _ctc(blank=4), _ctc(blank=3, labels=_LABELS % 3)),
    "an_input_length_too_few": refusal("runtime", _ctc(inputs=_INPUTS[:1]), _ctc()),
    "input_lengths_of_rank_2": refusal("runtime", _ctc(inputs=_INPUTS[:, None]), _ctc()),
    "input_lengths_that_are_fractions": refusal("runtime", _ctc(inputs=np.array([5, 4], "float32")), _ctc()),
    "input_lengths_of_bool": refusal(
        "runtime", _ctc(inputs=np.array([True, True])), _ctc(inputs=np.array([1, 1]))
    ),
    "complex_input_lengths": refusal("runtime", _ctc(inputs=_INPUTS.astype("complex64")), _ctc()),
    "an_input_beyond_the_frames": refusal(
        "runtime", _ctc(inputs=np.array([5, 6])), _ctc(inputs=np.array([4, 5]))
    ),
    "a_negative_input_length": refusal(
        "runtime", _ctc(inputs=np.array([5, -1])), _ctc(inputs=np.array([5, 0]))
    ),
    "a_target_length_too_many": refusal("runtime", _ctc(targets=np.array([3, 2, 1])), _ctc()),
    "a_target_beyond_the_table": refusal(
        "runtime", _ctc(targets=np.array([3, 4])), _ctc(targets=np.array([3, 3]))
    ),
    "a_negative_target_length": refusal(
        "runtime", _ctc(targets=np.array([3, -1])), _ctc(targets=np.array([3, 0]))
    ),
    "a_row_of_labels_too_short": refusal("runtime", _ctc(labels=_ROW[:4]), _ctc(labels=_ROW)),
    "labels_of_rank_3": refusal("runtime", _ctc(labels=_LABELS[None]), _ctc()),
    "complex_labels": refusal("runtime", _ctc(labels=_LABELS.astype("complex64")), _ctc()),
    "a_label_beyond_the_classes": refusal(
        "runtime",
        _ctc(labels=np.array([[1, 2, 4], [3, 1, 4]])),
        _ctc(labels=np.array([[1, 2, 3], [3, 1, 4]])),
    ),
    "a_negative_label": refusal(
        "runtime",
        _ctc(labels=np.array([[1, 2, 3], [3, -1, 0]])),
        _ctc(labels=np.array([[1, 2, 3], [0, 1, -1]])),
    ),
    "a_length_beyond_one_sequence": refusal(
        "runtime",
        Call(_ALONE, _ROW[:3], _ONE_INPUT, np.array(4)),
        Call(_ALONE, _ROW[:3], _ONE_INPUT, _ONE_TARGET),
    ),
}
_SCORES, _CLASSES = reals(3, 4), np.array([0, 3, 1])
_MARGINS = {
    "scores_of_rank_3": refusal("runtime", Call(_SCORES[None], _CLASSES), Call(_SCORES, _CLASSES)),
    "no_class": refusal("runtime", Call(reals(3, 0), _CLASSES * 0), Call(reals(3, 1), _CLASSES * 0)),
    "a_target_too_few": refusal("runtime", Call(_SCORES, _CLASSES[:2]), Call(_SCORES, _CLASSES)),
    "targets_of_rank_2": refusal("runtime", Call(_SCORES, _CLASSES[:, None]), Call(_SCORES, _CLASSES)),
    "two_targets_of_one_row": refusal("runtime", Call(reals(4), _CLASSES[:2]), Call(reals(4), _CLASSES[:1])),
    "one_target_of_rank_2": refusal(
        "runtime", Call(reals(4), _CLASSES[:1, None]), Call(reals(4), _CLASSES[0:1].reshape(()))
    ),
    "an_unknown_reduction": refusal(
        "value", Call(_SCORES, _CLASSES, reduction="average"), Call(_SCORES, _CLASSES, reduction="none")
    ),
}
_LISTS = np.array([[0, 3, -1, 1], [2, -1, -1, 0], [1, 0, 2, 3]])
_LABEL_LISTS = {
    "scores_of_rank_3": refusal("runtime", Call(_SCORES[None], _LISTS[None]), Call(_SCORES, _LISTS)),
    "no_class": refusal("runtime", Call(reals(3, 0), _LISTS[:, :0]), Call(reals(3, 1), _LISTS[:, :1] * 0)),
    "a_label_too_few": refusal("runtime", Call(_SCORES, _LISTS[:, :3]), Call(_SCORES, _LISTS)),
    "labels_of_one_row": refusal("runtime", Call(_SCORES, _LISTS[0]), Call(_SCORES[0], _LISTS[0])),
    "a_label_too_few_of_one_row": refusal(
        "runtime", Call(_SCORES[0], _LISTS[0, :3]), Call(_SCORES[0], _LISTS[0])
    ),
    "an_unknown_reduction": refusal(
        "value", Call(_SCORES, _LISTS, reduction="average"), Call(_SCORES, _LISTS, reduction="sum")
    ),
}
_TRIPLETS = {
    "a_positive_of_another_length": refusal(
        "runtime", Call(_SCORES, reals(3, 3), _SCORES), Call(_SCORES, reals(3, 1), _SCORES)
    ),
    "a_negative_of_another_batch": refusal(
        "runtime", Call(_SCORES, _SCORES, reals(2, 4)), Call(_SCORES, _SCORES, reals(1, 4))
    ),
    "an_unknown_reduction": refusal(
        "value",
        Call(_SCORES, _SCORES, _SCORES, reduction="average"),
        Call(_SCORES, _SCORES, _SCORES, reduction="none"),
    ),
}
_SIGNS = np.array([1, -1, 1])
_COSINES = {
    "numbers": refusal("runtime", Call(reals(), reals(), np.array(1)), Call(reals(2), reals(2), np.array(1))),
    "features_apart": refusal(
        "runtime", Call(_SCORES, reals(3, 3), _SIGNS), Call(_SCORES, reals(3, 4), _SIGNS)
    ),
    "a_target_too_few": refusal("shape", Call(_SCORES, _SCORES, _SIGNS[:2]), Call(_SCORES, _SCORES, _SIGNS)),
    "an_unknown_reduction": refusal(
        "value",
        Call(_SCORES, _SCORES, _SIGNS, reduction="average"),
        Call(_SCORES, _SCORES, _SIGNS, reduction="mean"),
    ),
}
_SOFT = {
    "a_number": refusal("runtime", Call(reals(), reals()), Call(reals(1), reals(1))),
    "targets_of_other_classes": refusal("runtime", Call(_SCORES, reals(3, 3)), Call(_SCORES, reals(3, 1))),
    "a_weight_too_few": refusal(
        "runtime", Call(_SCORES, _SCORES, reals(3)), Call(_SCORES, _SCORES, reals(4))
    ),
    "an_unknown_reduction": refusal(
        "value", Call(_SCORES, _SCORES, reduction="average"), Call(_SCORES, _SCORES, reduction="none")
    ),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "ctc_loss": _CTC,
    "multi_margin_loss": _MARGINS,
    "multilabel_margin_loss": _LABEL_LISTS,
    "multilabel_soft_margin_loss": _SOFT,
    "triplet_margin_loss": _TRIPLETS,
    "cosine_embedding_loss": _COSINES,
}
