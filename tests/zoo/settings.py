"""Sizes of a tiny model by the names that configurations give them, and what a family needs."""

UNSET = object()  # leaves a size out: some configurations compute it

SIZES: dict[str, object] = {
    "vocab_size": 97, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None,
    "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048,
    "sliding_window": 8, "attention_chunk_size": 64, "floor_scale": 128,
    # experts
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4,
    "num_experts_per_tok": 2, "num_experts_per_token": 2, "moe_k": 2, "moe_topk": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "intermediate_size_mlp": 96, "n_group": 1, "topk_group": 1, "num_expert_group": 1,
    "first_k_dense_replace": 1,
    # latents
    "q_lora_rank": 16, "kv_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    # encoders and the older names
    "d_model": 64, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 2048, "n_ctx": 2048,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "ffn_dim": 96,
    "n_inner": 96, "embedding_size": 64,
    # a causal model also where the family is an encoder
    "is_decoder": True,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "index_n_heads": 2, "index_head_dim": 16, "index_topk": 4,
}  # fmt: skip

_QSA = {
    "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 8,
    "indexer_compress_ratio": 4, "hc_lowrank": 8,
}  # fmt: skip
_SMALL_EYE = {
    "hidden_size": 32, "image_size": 32, "patch_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
_SHARED = {
    "num_hidden_layers": 6, "num_kv_shared_layers": 2, "vocab_size_per_layer_input": 97,
    "hidden_size_per_layer_input": 8, "intermediate_size": 96, "pad_token_id": 0,
    "layer_types": ["sliding_attention", "full_attention"] * 3,
}  # fmt: skip
_GEMMA4 = {**_SHARED, "global_head_dim": 32}
_DRAFTER = {
    "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
    "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0, "global_head_dim": 32,
    "enable_moe_block": False, "use_double_wide_mlp": False, "num_kv_shared_layers": 2,
}  # fmt: skip
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_MIXED = ["sliding_attention", "full_attention", "sliding_attention"]

SETTINGS: dict[str, dict[str, object]] = {
    "blt": {
        "encoder_hash_byte_group_vocab": 97,
        "encoder_hash_byte_group_size": [3],
        "encoder_config": {"hidden_size_global": 64},
        "decoder_config": {"hidden_size_global": 64},
    },
    "codegen": {"rotary_dim": 8},
    "cohere_compass_text": {
        "layer_types": _MIXED,
        "rope_parameters": dict.fromkeys(_MIXED, {**_ROPE, "mrope_section": [3, 3, 2]}),
    },
    "cpmant": {
        "dim_head": 16,
        "dim_ff": 96,
        "prompt_length": 4,
        "prompt_types": 4,
        "segment_types": 4,
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": 32, "moe_top_k": 2},
        "rope_parameters": _ROPE,
    },
    "dory": {
        "n_input_layers": 1,
        "n_recurrent_layers": 2,
        "n_output_layers": 1,
        "num_hidden_layers": 4,
        "layer_types": [*_MIXED, "full_attention"],
    },
    "dots1": {"n_shared_experts": 1, "layer_types": _MIXED, "num_hidden_layers": 3},
    "emu3": {"vocab_size": 97},
    "gemma3n_text": {**_SHARED, "activation_sparsity_pattern": [0.5] + [0.0] * 5},
    "gemma4_text": _GEMMA4,
    "gemma4_unified_text": _GEMMA4,
    "gemma4": {"text_config": _GEMMA4, "vision_config": _SMALL_EYE, "audio_config": UNSET},
    "gemma4_unified": {"text_config": _GEMMA4},
    "gemma4_assistant": {
        "text_config": {**_DRAFTER, "model_type": "gemma4_text"},
        "backbone_hidden_size": 64,
        "num_centroids": 8,
    },
    "gemma4_unified_assistant": {
        "text_config": {**_DRAFTER, "model_type": "gemma4_unified_text"},
        "backbone_hidden_size": 64,
        "num_centroids": 8,
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "num_layers": 4, "window_size": 8},
    "gptj": {"rotary_dim": 8},
    "got_ocr2": {"vision_config": _SMALL_EYE},
    "lfm2": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]},
    "lfm2_moe": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]},
    "longcat_flash": {
        "num_layers": 2,
        "ffn_hidden_size": 96,
        "expert_ffn_hidden_size": 32,
        "zero_expert_num": 2,
        "head_dim": 8,
    },
    "mamba2": {"num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 8},
    "minimax_m3_vl_text": {"layer_types": ["full_attention", *["minimax_m3_sparse"] * 2]},
    "mllama": {
        "text_config": {
            "num_hidden_layers": 4,
            "cross_attention_layers": [1],
            "pad_token_id": 0,
        },
        "vision_config": {**_SMALL_EYE, "intermediate_layers_indices": [0]},
    },
    "dots3_note": {
        "vision_config": {"adapter_in_dim": 64, "adapter_out_dim": 64, "num_hidden_layers": 1},
        "audio_config": {
            "adapter_input_size": 64,
            "adapter_out_dim": 64,
            "num_hidden_layers": 1,
        },
    },
    "modernbert-decoder": {"local_attention": 16},
    "moshi": {"audio_vocab_size": 64},
    "musicgen": {"config": "musicgen_decoder"},
    "musicgen_melody": {"config": "musicgen_melody_decoder"},
    "prophetnet": {"num_decoder_layers": 2, "num_encoder_layers": 2, "pad_token_id": 0},
    "reformer": {
        "axial_pos_embds_dim": [16, 48],
        "attention_head_size": 16,
        "feed_forward_size": 96,
        "axial_pos_shape": [32, 64],
        "pad_token_id": 0,
        "attn_layers": ["local", "lsh", "local"],
    },
    "xlm": {"pad_index": 2, "causal": True, "pad_token_id": 2},
    "zamba": {
        "num_hidden_layers": 6,
        "layers_block_type": UNSET,
        "attn_layer_period": 3,
        "attn_layer_offset": 1,
    },
    "qwen4_exp": {"text_config": _QSA},
    "qwen4_exp_text": _QSA,
    "xmod": {"default_language": "en_XX", "languages": ["en_XX"]},
    "zaya": {"num_experts_per_tok": 1},
}
