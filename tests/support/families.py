"""Settings of the tiny models, one entry a family: what its way of placing tokens needs."""

UNSET = object()  # leaves a size out: some configurations compute it

_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip
_YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 128,
}  # fmt: skip
_LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 128,
    "short_factor": [1.0 + 0.01 * i for i in range(8)],
    "long_factor": [1.5 + 0.25 * i for i in range(8)],
}  # fmt: skip
_SLIDING = ["sliding_attention", "full_attention", "sliding_attention"]

FAMILIES: dict[str, dict[str, object]] = {
    "llama": {"rope_parameters": _ROPE},
    "llama_linear": {
        "model_type": "llama",
        "rope_parameters": {**_ROPE, "rope_type": "linear", "factor": 2.0},
    },
    "llama_llama3": {"model_type": "llama", "rope_parameters": _LLAMA3},
    "llama_yarn": {
        "model_type": "llama", "rope_parameters": _YARN, "max_position_embeddings": 512,
    },
    "llama_dynamic": {
        "model_type": "llama", "max_position_embeddings": 128,
        "rope_parameters": {**_ROPE, "rope_type": "dynamic", "factor": 4.0},
    },
    "phi3_longrope": {
        "model_type": "phi3", "rope_parameters": _LONGROPE, "max_position_embeddings": 512,
        "original_max_position_embeddings": 128,
    },
    "phi3": {"rope_parameters": _ROPE},
    "phi": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 0.5}},
    "stablelm": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 0.25}},
    "qwen2": {"rope_parameters": _ROPE},
    "qwen3": {"rope_parameters": _ROPE},
    "qwen3_moe": {
        "rope_parameters": _ROPE, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
    },
    "mistral": {"rope_parameters": _ROPE, "sliding_window": 8},
    "ministral3": {
        "sliding_window": None, "rope_parameters": {**_YARN, "llama_4_scaling_beta": 0.5},
        "max_position_embeddings": 512,
    },
    "olmo2": {"rope_parameters": _ROPE},
    "gemma2": {
        "sliding_window": 8, "layer_types": _SLIDING, "query_pre_attn_scalar": 16,
        "attn_logit_softcapping": 5.0, "final_logit_softcapping": 10.0,
    },
    "gemma3": {
        "model_type": "gemma3_text", "sliding_window": 8, "layer_types": _SLIDING,
        "query_pre_attn_scalar": 16,
    },
    "glm4": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 0.5}},
    "gpt_neox": {
        "rope_parameters": {**_ROPE, "partial_rotary_factor": 0.25}, "num_key_value_heads": 4,
    },
    "cohere": {"rope_parameters": _ROPE, "logit_scale": 1.0},
    "cohere2": {
        "rope_parameters": _ROPE, "sliding_window": 8, "layer_types": _SLIDING, "logit_scale": 1.0,
    },
    "smollm3": {"rope_parameters": _ROPE, "no_rope_layers": [1, 0, 1]},
    "gpt_oss": {
        "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8,
        "layer_types": _SLIDING, "rope_parameters": {**_YARN, "truncate": False},
        "max_position_embeddings": 512,
    },
    "llama4": {
        "model_type": "llama4_text", "rope_parameters": _ROPE, "no_rope_layers": [1, 1, 0],
        "attention_chunk_size": 64, "attn_temperature_tuning": True, "floor_scale": 128,
        "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 96,
    },
    "nanochat": {"rope_parameters": _ROPE},
    "hunyuan": {"model_type": "hunyuan_v1_dense", "rope_parameters": _ROPE},
    "gptj": {
        "n_positions": 2048, "n_embd": 64, "n_layer": 3, "n_head": 4, "rotary_dim": 8,
    },
    "falcon": {
        "rope_parameters": _ROPE, "alibi": False, "new_decoder_architecture": True,
        "num_kv_heads": 2, "head_dim": UNSET,
    },
    "gpt2": {"n_positions": 2048, "n_embd": 64, "n_layer": 3, "n_head": 4},
    "bloom": {},
    "falcon_alibi": {
        "model_type": "falcon", "alibi": True, "new_decoder_architecture": True,
        "num_kv_heads": 2, "head_dim": UNSET,
    },
    "deepseek_v3": {
        "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 24, "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 3,
        "rope_parameters": _ROPE, "head_dim": UNSET,
    },
    "recurrent_gemma": {"attention_window_size": 8, "lru_width": 64},
    "mamba": {"state_size": 8},
    "qwen3_next": {
        "rope_parameters": {**_ROPE, "partial_rotary_factor": 0.5}, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32, "linear_key_head_dim": 8,
        "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    },
}  # fmt: skip
