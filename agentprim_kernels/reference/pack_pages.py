"""Pack pages into host memory and put them back, in plain torch."""

from torch import Tensor


def pack_pages_(packed: Tensor, pages: Tensor, cache: Tensor, *, ring: object = None) -> None:
    packed.copy_(cache[:, pages.long().to(cache.device)].transpose(0, 1))


def unpack_pages_(cache: Tensor, pages: Tensor, packed: Tensor, *, ring: object = None) -> None:
    cache.index_copy_(1, pages.long().to(cache.device), packed.to(cache.device).transpose(0, 1))
