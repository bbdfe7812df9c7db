"""Watch a model: tell a `PagedCache` of every forward pass, and of the ids given to `generate`."""

import functools
import inspect
from collections.abc import Callable, Iterable
from weakref import ref

from torch import Tensor, nn

from agentprim.cache.hf import NAME, PagedCache
from agentprim.errors import UnsupportedModel


def watch(model: nn.Module) -> Callable[[], None]:
    """Hook a model, so that every forward pass with a paged cache is announced to it.

    The hooks are functions of this module and know no model: a model may be copied, pickled or
    dropped with them.

    Returns:
        A function that takes the hooks off again.
    """
    base, handles = model.base_model, []
    if _announce not in base._forward_pre_hooks.values():  # another head on the same base
        handles += [
            base.register_forward_pre_hook(_announce, with_kwargs=True),
            base.register_forward_hook(_close, with_kwargs=True, always_call=True),
        ]
    if model is not base:
        handles += [
            model.register_forward_pre_hook(_commit, with_kwargs=True),
            model.register_forward_hook(_close, with_kwargs=True, always_call=True),
        ]
    if hasattr(model, "prepare_inputs_for_generation"):
        model.prepare_inputs_for_generation = _Guard(model)

    def unwatch() -> None:
        for handle in handles:
            handle.remove()
        model.__dict__.pop("prepare_inputs_for_generation", None)

    return unwatch


class _Guard:
    """Check the ids that `generate` believes to be cached, before it cuts them off.

    Stands for `model.prepare_inputs_for_generation`, without keeping the model alive.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = ref(model)

    @property
    def __wrapped__(self) -> Callable:
        """The method of the model's class, also for `inspect.signature`."""
        model = self._model()
        return type(model).prepare_inputs_for_generation.__get__(model)

    def __call__(self, input_ids: Tensor, *args, **kwargs) -> dict:
        cache = _paged((*args, *kwargs.values()))
        new = kwargs.get("next_sequence_length")
        if cache is not None and kwargs.get("is_first_iteration") and new is not None:
            cache.check_ids(input_ids, new, kwargs.get("attention_mask"))
        made = self.__wrapped__(input_ids, *args, **kwargs)
        if cache is not None and _paged(made.values()) is None:
            self._restore(cache, made, kwargs)
        return made

    def _restore(self, cache: PagedCache, made: dict, kwargs: dict) -> None:
        """Put a cache back that the model dropped to read a text anew beyond its switch.

        Raises:
            UnsupportedModel: The cache holds something.
        """
        if cache.get_seq_length():
            raise UnsupportedModel.because(
                type(self._model()).__name__, "a forward pass without its cache",
                "past a length it reads all again", way="prefill again as one text",
            )  # fmt: skip
        made[next(name for name, value in kwargs.items() if value is cache)] = cache

    def __deepcopy__(self, memo: dict) -> "_Guard":
        return _Guard(memo.get(id(self._model()), self._model()))

    def __reduce__(self) -> tuple:
        return _Guard, (self._model(),)


def _announce(module: nn.Module, args: tuple, kwargs: dict) -> None:
    """Tell the cache of a forward pass of the base model before its first layer runs."""
    cache = _paged((*args, *kwargs.values()))
    if cache is None:
        return
    given = _signature(type(module)).bind_partial(module, *args).arguments | kwargs
    ids, embeds = given.get("input_ids"), given.get("inputs_embeds")
    batch, num_new = (ids if ids is not None else embeds).shape[:2]
    cache.begin(
        batch, num_new, ids=ids, mask=given.get("attention_mask"),
        position_ids=given.get("position_ids"),
        spans=reads_spans(module),
    )  # fmt: skip


def reads_spans(base: nn.Module) -> bool:
    """Tell whether a base model's attention function is still the one that reads spans."""
    return str(base.config._attn_implementation).startswith(NAME)


def _commit(module: nn.Module, args: tuple, kwargs: dict) -> None:
    """Keep what earlier passes wrote, whatever becomes of this one."""
    cache = _paged((*args, *kwargs.values()))
    if cache is not None:
        cache.commit()


def _close(module: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
    """Keep what a forward pass wrote, or take it back where the pass raised."""
    cache = _paged((*args, *kwargs.values()))
    if cache is not None:
        cache.end(failed=output is None)


@functools.cache
def _signature(model_class: type) -> inspect.Signature:
    return inspect.signature(inspect.unwrap(model_class.forward))


def _paged(values: Iterable) -> PagedCache | None:
    return next((value for value in values if isinstance(value, PagedCache)), None)
