"""Shrink a family's own default configuration to a tiny one that keeps each kind of layer."""

import inspect

from transformers import AutoConfig, PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests.zoo.settings import SETTINGS, SIZES, UNSET

MAX_LAYERS = 8


def tiny_config(family: str) -> PretrainedConfig:
    """Build a tiny configuration of a model type of transformers."""
    own = SETTINGS.get(family, {})
    kind = CONFIG_MAPPING[own.get("config", family)]
    return kind(**_shrink(kind, own))


def _shrink(kind: type, own: dict[str, object]) -> dict[str, object]:
    """Shrink a configuration class: sizes by name, layers by kind, then what a family needs."""
    fields = inspect.signature(kind.__init__).parameters
    aliases = {alias: name for alias, name in kind.attribute_map.items() if name in fields}
    chosen = {aliases.get(name, name): value for name, value in SIZES.items()}
    chosen = {
        name: 1 if value is None and "None" not in str(fields[name].annotation) else value
        for name, value in chosen.items()
        if name in fields
    }
    if "kv_lora_rank" in fields:  # expanded latents give every head keys of its own
        chosen["num_key_value_heads"] = chosen["num_attention_heads"]
    default = _default(kind)
    chosen |= _layers(default, set(fields), aliases.get("num_hidden_layers", "num_hidden_layers"))
    for name, part in kind.sub_configs.items():
        given = own.get(name, {})
        spec = getattr(kind, "sub_configs_defaults", {}).get(name)
        if part is AutoConfig:
            present = getattr(getattr(default, name, None), "model_type", None)
            model_type = given.get("model_type") or getattr(spec, "model_type", None) or present
            part = CONFIG_MAPPING[model_type] if model_type else None
        if inspect.isclass(part) and given is not UNSET:
            chosen[name] = _shrink(part, given)
            if kind.sub_configs[name] is AutoConfig:
                chosen[name]["model_type"] = part.model_type
    chosen |= {name: value for name, value in own.items() if name not in kind.sub_configs}
    chosen = {name: value for name, value in chosen.items() if name not in ("config", "model_type")}
    return {name: value for name, value in chosen.items() if value is not UNSET}


def _default(kind: type) -> PretrainedConfig | None:
    """Build the default configuration; None where a family has none that is valid."""
    try:
        return kind()
    except Exception:
        return None


def _layers(default: PretrainedConfig | None, names: set[str], count: str) -> dict[str, object]:
    """Choose layers of the default model that show each of its kinds, and cut its lists to them."""
    if default is None or count not in names:
        return {}
    total = getattr(default, count)
    lists = {
        name: value
        for name, value in vars(default).items()
        if name in names and isinstance(value, list | tuple) and len(value) == total
    }
    indices, seen = [], set()
    for index in range(total):
        look = str([value[index] for value in lists.values()])
        if look not in seen and len(indices) < MAX_LAYERS:
            seen.add(look)
            indices.append(index)
    indices += [i for i in range(total) if i not in indices][: max(0, 3 - len(indices))]
    indices.sort()
    return {count: len(indices)} | {name: [v[i] for i in indices] for name, v in lists.items()}
