# Written by `python -m tenora_ops.generate` from the op records; do not edit.
from typing import NamedTuple

from tenora_engine._engine import Tensor

class ValuesIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class MantissaExponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class HistBinEdges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class SignLogabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class LInfo(NamedTuple):
    L: Tensor
    info: Tensor

class LuPivotsInfo(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class LuPivots(NamedTuple):
    LU: Tensor
    pivots: Tensor

class PLU(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class QR(NamedTuple):
    Q: Tensor
    R: Tensor

class EigenvaluesEigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class USVh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class USV(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class ATau(NamedTuple):
    a: Tensor
    tau: Tensor

class SolutionResidualsRankSingularValues(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class SolutionClonedCoefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class ResultInfo(NamedTuple):
    result: Tensor
    info: Tensor

class InverseInfo(NamedTuple):
    inverse: Tensor
    info: Tensor

class MinMax(NamedTuple):
    min: Tensor
    max: Tensor
