"""Rows that share spans are served together: same results, and shared keys are read once."""

import pytest
import torch
from triton.runtime import interpreter

import agentprim_kernels as ak
from agentprim_kernels.triton import attend as op
from agentprim_kernels.triton import plan
from tests.kernels import cases

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def shared(rows, lengths, *, queries=1, heads=4, kv_heads=2, dim=16, dtype=torch.float32,
           interleaved=False, equal=False, gapped=(), seed=0, **options):  # fmt: skip
    """Lay out a batch; a row is a list of names, equal names are the same slots.

    Each row puts its spans behind one another, so shared ones stand at positions of its own;
    where `equal`, all rows put them at the same.
    """
    source, page_size = cases.generator(seed), 8
    pages, places = 0, {}
    for name, length in lengths.items():
        first_slot = len(places) % 5
        places[name] = (list(range(pages, pages + -(-(first_slot + length) // page_size))),
                        first_slot, length)  # fmt: skip
        pages += len(places[name][0])
    table, spans, deltas, starts, ends, key_positions = [], [], [], [0], [], []
    for row, names in enumerate(rows):
        position = 0 if equal else 3 * row
        for name in names:
            entries, first_slot, length = places[name]
            gaps = -1
            if name in gapped:
                gaps = len(key_positions)
                key_positions += [position + 2 * n for n in range(length)]
            spans.append([len(table), first_slot, length, position, gaps])
            deltas.append(position - 5)
            table += entries
            position += 2 * length if name in gapped else length
        starts.append(len(spans))
        ends.append(position)
    shape = (max(1, pages), kv_heads, page_size, dim)
    at = torch.tensor(ends)[:, None] - queries + torch.arange(queries)
    return {
        "query": torch.randn(len(rows), heads, queries, dim, generator=source).to(dtype),
        "k_cache": torch.randn(shape, generator=source).to(dtype),
        "v_cache": torch.randn(shape, generator=source).to(dtype),
        "page_table": torch.tensor(table, dtype=torch.int32),
        "spans": torch.tensor(spans, dtype=torch.int32).reshape(-1, 5),
        "rotation": cases.rotation(deltas, 1, dim)[0],
        "span_starts": torch.tensor(starts, dtype=torch.int32),
        "query_positions": at.clamp(min=-1).int(),
        "key_positions": torch.tensor(key_positions, dtype=torch.int32) if gapped else None,
        "scale": dim**-0.5 * 2,
        "interleaved": interleaved,
    } | options


def grouped(case, **options):
    tables = case["page_table"], case["spans"], case["span_starts"]
    found = ak.cascade(*tables, page_size=8, key_positions=case["key_positions"], **options)
    return case | {"cascade": found}


def close(case, impl="triton"):
    """Compare with the reference, row by row; return what a cascade gave."""
    have = ak.attend(**case, impl=impl)
    want = ak.attend(**case | {"cascade": None}, impl="reference")
    tolerance = TOLERANCE[case["query"].dtype]
    for a, b in zip(have, want, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    return have


ROWS = {
    "one span, behind prompts of many lengths": ["ax", "bx", "cx", "x", "dx"],
    "several spans, in any order": ["axy", "byx", "xy", "cyx"],
    "some share more than others": ["xya", "xyb", "xc", "zd", "ze", "f"],
    "a row without spans, and one that shares nothing": ["xa", "", "xb", "c", "x"],
    "a span twice in a row": ["xxa", "xb", "xx"],
}
LENGTHS = dict(x=70, y=33, z=19, a=9, b=17, c=1, d=20, e=5, f=40)


@pytest.fixture
def two_splits(monkeypatch):
    monkeypatch.setattr(op, "processors", lambda on: 2)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize(
    ("equal", "dtype"), [(False, torch.float32), (True, torch.float16), (False, torch.bfloat16)]
)
def test_rows_that_share_equal_rows_alone(impl, rows, equal, dtype):
    case = grouped(shared(rows, LENGTHS, equal=equal, dtype=dtype))
    assert case["cascade"].rows.shape[1] >= 2
    close(case)


@pytest.mark.parametrize("options", [
    {"window": 30}, {"softcap": 2.0}, {"sinks": torch.tensor([0.5, -2.0, 1.0, 0.0])},
    {"gapped": "xy"}, {"interleaved": True},
    {"gapped": "x", "window": 50, "softcap": 5.0, "sinks": torch.tensor([0.5, -2.0, 1.0, 0.0])},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("processors", [1, 20])
def test_masks_caps_sinks_and_gaps_of_each_row(impl, monkeypatch, options, processors):
    monkeypatch.setattr(op, "processors", lambda on: processors)
    rows = ["axy", "byx", "", "xc"]
    close(grouped(shared(rows, LENGTHS, dtype=torch.float16, **options)))


@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 2), (6, 2), (8, 1)])
@pytest.mark.parametrize(("queries", "most_members"), [(2, 4), (3, 2)])
def test_any_group_and_several_new_tokens(impl, heads, kv_heads, queries, most_members):
    rows = ["axy", "byx", "xc", "yx", "dx"]
    case = shared(rows, LENGTHS, queries=queries, heads=heads, kv_heads=kv_heads,
                  dtype=torch.float16)  # fmt: skip
    case["query_positions"][3, 0] = -1
    close(grouped(case, most_members=most_members))


def test_tables_of_fixed_shape_give_the_same(impl, two_splits):
    for rows in (["ax", "bx", "cx"], ["a", "b", "c"], ["ax", "", "x"]):
        case = shared(rows, LENGTHS, dtype=torch.float16)
        found = grouped(case, most_members=4, fixed=True)
        assert found["cascade"].rows.shape == (3, 4)
        assert found["cascade"].held.shape == (len(case["spans"]), 4)
        close(found)


@pytest.mark.parametrize("place", ["private", "after"])
def test_what_one_row_holds_never_reaches_another(impl, place):
    """A value that is not a number must stay in its row, though others compute along."""
    case = grouped(shared(["ax", "xb", "xc"], LENGTHS, dtype=torch.float16))
    clean = close(case)
    page = case["page_table"][{"private": 0, "after": -1}[place]]  # of the first row, of the last
    case["v_cache"][page] = cases.NAN
    out, lse = ak.attend(**case, impl="triton")
    row = {"private": 0, "after": 2}[place]
    others = [n for n in range(3) if n != row]
    assert out[row].isnan().all()
    assert torch.equal(out[others], clean[0][others]) and torch.equal(lse, clean[1])


def keys_loaded(monkeypatch, case):
    """Count rows of keys and values that a call takes from its caches."""
    count, load = [0], interpreter.InterpreterBuilder.create_masked_load
    ranges = [(cache.data_ptr(), cache.data_ptr() + cache.nbytes)
              for cache in (case["k_cache"], case["v_cache"])]  # fmt: skip
    dim = case["k_cache"].shape[-1]

    def counted(self, pointers, mask, *rest):
        for low, high in ranges:
            inside = (pointers.data >= low) & (pointers.data < high) & mask.data
            count[0] += int(inside.sum())
        return load(self, pointers, mask, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(interpreter.InterpreterBuilder, "create_masked_load", counted)
        close(case)
    return count[0] / dim / case["k_cache"].shape[1]


@pytest.mark.parametrize("processors", [1, 20])
def test_a_shared_span_is_read_once(impl, monkeypatch, processors):
    monkeypatch.setattr(op, "processors", lambda on: processors)
    rows = ["ax", "bx", "cx", "xd", "xe"]
    case = shared(rows, LENGTHS, dtype=torch.float16)
    private = sum(LENGTHS[name] for name in "abcde")
    assert keys_loaded(monkeypatch, case) == 2 * (private + 5 * LENGTHS["x"])
    assert keys_loaded(monkeypatch, grouped(case)) == 2 * (private + LENGTHS["x"])


def test_keys_outside_every_window_are_not_read(impl, monkeypatch):
    monkeypatch.setattr(op, "processors", lambda on: 20)
    lengths = LENGTHS | {"x": 300}
    case = grouped(shared(["x", "xa", "xb"], lengths, dtype=torch.float16, window=8))
    tile = 64
    read = keys_loaded(monkeypatch, case) / 2
    assert read <= tile + lengths["a"] + lengths["b"]


@pytest.mark.parametrize(("members", "blocks"), [(2, 1), (8, 1), (16, 2)])
def test_programs_do_not_multiply_with_rows(members, blocks):
    """One grid for all members, where alone each would bring one of its own."""
    sizes = dict(k_dim=128, v_dim=128, dtype=torch.bfloat16, capacity=10**6, processors=132)
    one = plan.plan(rows=4, members=1, programs=8, **sizes)
    many = plan.plan(rows=4 * members, members=members, programs=8, **sizes)
    assert many.num_blocks == blocks
    assert many.num_blocks * many.num_splits <= one.num_splits


@pytest.mark.parametrize("programs", [7, 8, 64, 200, 300, 512])
def test_splits_fill_the_processors(programs):
    """No wave of programs is mostly empty where splitting can fill it."""
    sizes = dict(k_dim=128, v_dim=128, dtype=torch.bfloat16, capacity=10**6, processors=132)
    found = plan.plan(rows=4, members=1, programs=programs, **sizes).num_splits * programs
    waves = -(-found // 264)
    assert found / (waves * 264) > (0.9 if programs < 132 else 0.7)
