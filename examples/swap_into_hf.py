"""Use paged and joined caches in a generate loop of Hugging Face, without an engine.

python examples/swap_into_hf.py [model]
"""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from agentprim.engine.load import cache_name
from agentprim.engine.smollm import folder
from agentprim.hf import PagedCache, join_caches


@torch.no_grad()
def main(model: str = "smollm2") -> None:
    path = str(folder()) if model == "smollm2" else model
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    name = cache_name(model)  # newer releases of transformers say `cache` for `past_key_values`
    notes = tokenizer("Note: the key is under the pot.\n", return_tensors="pt").input_ids
    task = tokenizer("Answer in one word.\n", return_tensors="pt").input_ids
    question = tokenizer("Question: where is the key?\nAnswer:", return_tensors="pt").input_ids

    # the loop that you have: each part was read into a cache of its own
    caches = [DynamicCache(), DynamicCache()]
    for ids, cache in zip((task, notes), caches, strict=True):
        model(ids, attention_mask=torch.ones_like(ids), **{name: cache})

    # DynamicCaches in, one DynamicCache out; the keys of the second now stand behind the first
    ids = torch.cat([task, notes, question], dim=1)
    options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 8, "do_sample": False}
    joined = join_caches(caches, model)
    dense = model.generate(ids, **options, **{name: joined})
    print("joined dense caches:", repr(tokenizer.decode(dense[0, ids.shape[1] :])))

    # a paged cache in the same loop; `inputs` builds the full-length ids and mask
    paged = PagedCache(model)
    for part in (torch.cat([task, notes], dim=1), question):
        inputs = paged.inputs(part)
        tokens = model.generate(
            **inputs, max_new_tokens=8 if part is question else 1, do_sample=False, **{name: paged}
        )
        if part is question:
            print("one paged cache:    ", repr(tokenizer.decode(tokens[0, ids.shape[1] :])))


if __name__ == "__main__":
    main(*sys.argv[1:])
