"""Walk families, each in a process of its own: one that hangs or crashes stops nothing."""

import json
import os
import signal
from collections.abc import Iterable
from dataclasses import asdict

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tests.zoo.certify import certify
from tests.zoo.finding import FAULT, Finding
from tests.zoo.variants import VARIANTS

FAMILIES = tuple(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
SECONDS = 120  # for one family


def walk(families: Iterable[str] = (*FAMILIES, *VARIANTS)) -> Iterable[Finding]:
    """Certify or refuse families, one after the other."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    certify("llama")  # imports what they share, before the first fork
    for family in families:
        yield _apart(family)


def _apart(family: str) -> Finding:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        signal.alarm(SECONDS)
        with os.fdopen(writer, "w") as out:
            json.dump(asdict(certify(family)), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as found:
        text = found.read()
    _, status = os.waitpid(child, 0)
    if status or not text:
        return Finding(family=family, outcome=FAULT, reason=f"its process ended with {status}")
    return Finding(**json.loads(text))
