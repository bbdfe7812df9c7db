"""The figures: each takes rows of results and returns a matplotlib figure."""

from collections.abc import Iterable

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

OURS, PLAIN, OTHER = "#0b62a4", "#9aa5ad", "#c8553d"
# in the order of the legend: colour and mark
HANDOVER = {
    "re-prefill": ("#8a1c3b", "v"),
    "torch eager": (OTHER, "s"),
    "torch.compile": ("#e09f3e", "D"),
    "torch.cat": (PLAIN, "x"),
    "materialize": ("#6a9fc9", "^"),
    "in place": ("#3f7fb5", "o"),
    "lazy": (OURS, "o"),
}
WORDS = {"torch.cat": "torch.cat (keys not turned: wrong)", "re-prefill": "read the text again",
         "lazy": "lazy join (agentprim)", "in place": "rotate in place (agentprim)",
         "materialize": "materialize (agentprim)", "torch eager": "torch eager, Hugging Face style",
         "cpp": "agentprim", "vllm": "vLLM"}  # fmt: skip
BARS = {"cpp": OURS, "vllm": "#7a5195", "torch.compile": "#e09f3e", "torch eager": OTHER}
OPS = {"rotate": "rotate\nin place", "materialize": "materialize", "store": "store",
       "select": "select"}  # fmt: skip


def handover(rows: Iterable[dict]) -> Figure:
    """Draw the time of a hand-over against the tokens handed over, by provider."""
    rows = [row for row in rows if row["name"].startswith("test_handover")]
    _need(rows)
    figure, axes = plt.subplots(figsize=(8.8, 4.6))
    for provider, (colour, mark) in HANDOVER.items():
        line = sorted((row["tokens"], row["seconds"]) for row in rows
                      if row["provider"] == provider)  # fmt: skip
        if line:
            axes.plot(*zip(*line, strict=True), color=colour, marker=mark, markersize=6,
                      linewidth=2.4 if provider == "lazy" else 1.6,
                      label=WORDS.get(provider, provider))  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="tokens handed over", ylabel="time",
             title="Time until the receiver can go on")  # fmt: skip
    _ticks(axes.xaxis, sorted({row["tokens"] for row in rows}), "{:,}".format)
    low, high = axes.get_ylim()
    powers = [10.0**n for n in range(-7, 4) if low <= 10.0**n <= high]
    _ticks(axes.yaxis, powers, _time)
    axes.grid(which="minor", visible=False)
    figure.legend(loc="center left", bbox_to_anchor=(0.655, 0.53), fontsize=9.5)
    figure.subplots_adjust(left=0.12, right=0.65, top=0.91, bottom=0.17)
    return figure


def shares(rows: Iterable[dict]) -> Figure:
    """Draw each op's rate as a share of libc's memcpy of as many bytes, by provider."""
    best: dict[tuple[str, str], float] = {}
    rows = [row for row in rows if row.get("op") in OPS and row["provider"] in BARS]
    threads = max((row["threads"] for row in rows), default=1)
    for row in rows:
        key = row["op"], row["provider"]
        if row["threads"] == threads and not row.get("run"):  # no variants
            best[key] = max(best.get(key, 0), 100 * row["share_of_memcpy"])
    _need(best)
    providers = [name for name in BARS if any(p == name for _, p in best)]
    figure, axes = plt.subplots(figsize=(8.2, 4.2))
    width = 0.8 / max(1, len(providers))
    for n, provider in enumerate(providers):
        at = [i + (n - (len(providers) - 1) / 2) * width for i in range(len(OPS))]
        bars = axes.bar(at, [best.get((op, provider), 0) for op in OPS], 0.92 * width,
                        color=BARS[provider], label=WORDS.get(provider, provider))  # fmt: skip
        labels = [f"{best[op, provider]:.0f}" if (op, provider) in best else "" for op in OPS]
        axes.bar_label(bars, labels, fontsize=9, padding=2)
    axes.axhline(100, color="#1f2933", linewidth=1, linestyle="--")
    axes.text(len(OPS) - 0.45, 101, "memcpy", ha="right", va="bottom", fontsize=9)
    axes.set_xticks(range(len(OPS)), OPS.values())
    axes.grid(axis="x", visible=False)
    axes.set(ylabel="rate, % of memcpy", xlim=(-0.5, len(OPS) - 0.42),
             ylim=(0, 1.16 * max(100, *best.values())))  # fmt: skip
    axes.set_title("Moving a cache: share of what memcpy reaches", pad=28)
    figure.legend(loc="upper left", ncols=len(providers), fontsize=9.5,
                  bbox_to_anchor=(0.08, 0.905))  # fmt: skip
    figure.subplots_adjust(left=0.09, right=0.98, top=0.8, bottom=0.2)
    return figure


def decode(rows: Iterable[dict]) -> Figure:
    """Draw one decode step, a layer, against the number of spans, beside other attentions."""
    rows = [row for row in rows if row.get("op") == "attend" and row["threads"] == 1
            and row["tokens"] == 4096]  # fmt: skip
    each = [(row, 1e3 * row["seconds"] / row["layers"]) for row in rows]
    ours = sorted((row["spans"], ms) for row, ms in each if row["provider"] == "cpp")
    _need(ours)
    lines = {"torch SDPA": OTHER, "torch SDPA, heads repeated": "#e09f3e", "vllm": "#7a5195"}
    figure, axes = plt.subplots(figsize=(8.2, 4.2))
    axes.plot(*zip(*ours, strict=True), color=OURS, marker="o", linewidth=2.4)
    for spans, ms in ours:
        axes.annotate(f"{ms:.2f}", (spans, ms), xytext=(0, -15), textcoords="offset points",
                      ha="center", color=OURS, fontsize=9)  # fmt: skip
    ends = {"spans (agentprim)": (ours[-1][1], OURS)}
    for provider, colour in lines.items():
        found = [ms for row, ms in each if row["provider"] == provider]
        if found:
            axes.axhline(min(found), color=colour, linewidth=1.6, linestyle="--")
            words = {"torch SDPA": "torch SDPA, dense, enable_gqa", "vllm": "vLLM, paged",
                     "torch SDPA, heads repeated": "torch SDPA, dense, heads repeated"}  # fmt: skip
            ends[words[provider]] = (min(found), colour)
    axes.set(xscale="log", yscale="log", xlabel="spans of 4,096 tokens in all",
             ylabel="one layer, ms (log)",
             title="One decode step: 32 query heads, 8 KV heads, bf16, one thread")  # fmt: skip
    _ticks(axes.xaxis, [spans for spans, _ in ours], str)
    top = 1.6 * max(ms for ms, _ in ends.values())
    axes.set_ylim(0.6 * min(ms for _, ms in ours), top)
    low = axes.get_ylim()[0]
    round_ones = (0.5, 1, 2, 5, 10, 20, 50, 100)
    _ticks(axes.yaxis, [n for n in round_ones if low <= n <= top], "{:g}".format)
    above = 0.0
    for words, (ms, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        above = max(ms, 1.17 * above)  # lines that lie close must not share one place
        axes.annotate(f"{words}: {ms:.2g}", (1, above), xycoords=("axes fraction", "data"),
                      xytext=(8, 0), textcoords="offset points", va="center", color=colour,
                      fontsize=9.5, annotation_clip=False)  # fmt: skip
    figure.subplots_adjust(left=0.09, right=0.645, top=0.9, bottom=0.19)
    return figure


def _need(found: object) -> None:
    if not found:
        raise ValueError("the results have no rows for this figure; run `make bench`")


def _ticks(axis, places: list[float], words) -> None:
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words(_whole(value))))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.999 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e9:,.0f} ns"
