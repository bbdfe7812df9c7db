"""Group refusals by what is behind them, for the counts at the top of the table."""

# the first whose words a reason has
GROUPS = {
    "absolute positions (learned, or added to what layers read)": ("uses absolute positions",),
    "positions counted by column of the cache, no position_ids": (
        "positions by column", "no rotary positions", "a cache entry of shape",
    ),
    "ALiBi": ("uses ALiBi",),
    "recurrent state": ("recurrent state", "rnn_state"),
    "an index or summary of keys beside keys and values": ("index or summary",),
    "weights on queries or keys after RoPE": ("is off by", "are off by"),
    "keys of something else than the text": ("attends to something else", "shared_kv_states"),
    "an encoder": ("uses an encoder",),
    "several ids a token (codebooks)": ("several ids a token",),
    "no keys and values in the model's cache": ("left no keys", "left nothing"),
}  # fmt: skip
OTHER = "a cache or a forward pass of its own"


def group(reason: str) -> str:
    """Return the group of a refusal."""
    for name, words in GROUPS.items():
        if any(word in reason for word in words):
            return name
    return OTHER
