"""Describe tensors to the compiled module: addresses, shapes, strides in elements."""

import torch
from torch import Tensor

_DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}


def memory(tensor: Tensor) -> tuple:
    """Return address, shape and strides."""
    return tensor.data_ptr(), tensor.shape, tensor.stride()


def dtype_code(tensor: Tensor) -> int:
    """Return the number of a storage dtype."""
    return _DTYPES[tensor.dtype]


def span_table(page_table: Tensor, spans: Tensor) -> tuple:
    """Return the addresses and lengths of a span table and its page table."""
    return spans.data_ptr(), spans.shape[0], page_table.data_ptr(), page_table.shape[0]


def rotation_rows(rotation: Tensor) -> tuple:
    """Return address, stride of a layer, number of rows and half the rotary dims."""
    layer_stride = rotation.stride(0) if rotation.ndim == 4 else 0
    return rotation.data_ptr(), layer_stride, rotation.shape[-3], rotation.shape[-1]
