"""Whether a kernel multiplies matrices on the units that a device has for that.

No profiler says so. Libraries name their kernels after the instruction that does the work, and of
the others nothing is claimed.
"""

from __future__ import annotations

import re
from enum import IntEnum

from tracklight.profiles.program.kinds import CONVOLUTION, PRODUCT


class Use(IntEnum):
    NO = 0
    YES = 1
    UNKNOWN = 2


#: Plain cores: these words stand in the names of kernels that would else look like the others.
_PLAIN = re.compile(r"ffma|simt|sgemm(?!.*tensorop)|dgemm|sgemv|gemv|f32f32_f32f32_f32", re.I)
#: Instructions of tensor cores by their shapes (884 to 16832), by their names, and libraries that
#: use nothing else.
_TENSOR = re.compile(
    r"(?<!\d)(884|1688|16816|16832|8816|16864)(?!\d)|[hi]mma|wgmma|gmma|qgmma|tensorop|xmma"
    r"|nvjet|cudnn.*(sdpa|flash)|flash_?(fwd|bwd|attn)|fmha|mfma|wmma|tf32",
    re.I,
)
_ELIGIBLE = re.compile(
    r"(aten::)?(addmm|mm|bmm|baddbmm|matmul|linear|\w*conv([123]d|olution|_)\w*"
    r"|_?scaled_dot_product\w*|_\w*attention\w*|_scaled_mm|einsum)\Z"
    r"|(_?\w*(MatMul|Conv[23]D|BatchMatMul|Einsum|CudnnRNN|XlaDot)\w*)\Z"
)


def find_use(kernel: str, op_type: str) -> Use:
    """By the kernel's name; what does no products needs none of them."""
    if _PLAIN.search(kernel):
        return Use.NO
    if _TENSOR.search(kernel):
        return Use.YES
    return Use.UNKNOWN if is_eligible(op_type) and may_multiply(kernel) else Use.NO


def is_eligible(op_type: str) -> bool:
    """Whether an op is one that tensor cores can do."""
    return op_type in (PRODUCT, CONVOLUTION) or bool(_ELIGIBLE.match(op_type))


def may_multiply(kernel: str) -> bool:
    """Ops launch kernels beside that which does the work: to transpose, to fill, to add up."""
    return re.search(r"gemm|dot|conv|matmul|wgrad|dgrad|fprop", kernel, re.I) is not None
