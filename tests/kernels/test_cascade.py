"""Which rows of a batch are served together."""

import pytest
import torch

import agentprim_kernels as ak


def tables(rows, page_size=4):
    """Lay out rows of `(pages, first_slot, length)` spans."""
    table, spans, starts = [], [], [0]
    for row in rows:
        for pages, first_slot, length in row:
            spans.append([len(table), first_slot, length, 7 * len(spans), -1])
            table += pages
        starts.append(len(spans))
    return (
        torch.tensor(table, dtype=torch.int32),
        torch.tensor(spans, dtype=torch.int32).reshape(-1, 5),
        torch.tensor(starts, dtype=torch.int32),
    )


def groups(found):
    """Return the rows of each group, and what each member reads."""
    starts = found.starts.tolist()
    return [
        ([row for row in rows if row >= 0], found.held[begin:end].tolist())
        for rows, begin, end in zip(found.rows.tolist(), starts, starts[1:], strict=False)
    ]


A, B, C = ([1, 2], 1, 6), ([3], 0, 4), ([4, 9], 3, 3)


def test_rows_that_hold_the_same_slots_form_a_group():
    found = ak.cascade(*tables([[A, B], [C], [B, A]]), page_size=4)
    assert groups(found) == [([0, 2], [[0, 4], [1, 3]]), ([1], [[2, -1]])]


@pytest.mark.parametrize("other", [
    ([1, 5], 1, 6), ([1, 2], 1, 5), ([1, 2], 0, 6), ([2, 1], 1, 6),
], ids=["a page", "length", "first slot", "order"])  # fmt: skip
def test_a_span_that_differs_is_not_shared(other):
    assert ak.cascade(*tables([[A], [other]]), page_size=4) is None


def test_pages_behind_the_last_token_do_not_matter():
    longer = ([1, 2, 8], 1, 6)
    assert groups(ak.cascade(*tables([[A], [longer]]), page_size=4)) == [([0, 1], [[0, 1]])]


def test_gaps_must_be_the_same_and_places_need_not():
    page_table, spans, starts = tables([[A], [A], [A]])
    spans[:, 4] = torch.tensor([0, 6, 12])
    steps = torch.tensor([0, 1, 5, 6, 7, 9])
    at = torch.cat((steps, steps + 40, steps + steps)).int()
    found = ak.cascade(page_table, spans, starts, page_size=4, key_positions=at)
    assert [rows for rows, _ in groups(found)] == [[0, 1], [2]]


def test_little_in_common_is_not_enough():
    """Others compute along for nothing while a program reads what one row alone holds."""
    long, other = ([20, 21, 22, 23], 0, 16), ([30, 31, 32, 33], 0, 16)
    assert ak.cascade(*tables([[B, long], [B, other]]), page_size=4) is None
    assert ak.cascade(*tables([[B, A], [B, C]]), page_size=4) is not None


def test_a_row_joins_the_group_with_which_it_has_most_in_common():
    long = ([20, 21], 0, 8)
    found = ak.cascade(*tables([[A, B], [long, B], [A, B], [long, B]]), page_size=4, most_members=2)
    assert [rows for rows, _ in groups(found)] == [[0, 2], [1, 3]]


def test_groups_are_cut_at_the_most_members():
    found = ak.cascade(*tables([[A]] * 7), page_size=4, most_members=3)
    assert found.rows.tolist() == [[0, 1, 2, -1], [3, 4, 5, -1], [6, -1, -1, -1]]


def test_each_row_is_in_one_group_and_each_span_is_read_once():
    generator = torch.Generator().manual_seed(0)
    spans = [([n, n + 50], n % 4, 4 + n % 3) for n in range(12)] + [([99], 0, 0)]
    for _ in range(50):
        rows = [[spans[n] for n in torch.randint(13, (5,), generator=generator)] for _ in range(9)]
        page_table, table, starts = tables(rows)
        found = ak.cascade(page_table, table, starts, page_size=4, fixed=True)
        assert found.rows.shape == (9, 16) and found.held.shape == (len(table), 16)
        parts = groups(found)
        assert sorted(row for rows, _ in parts for row in rows) == list(range(9))
        for rows, held in parts:
            for member, row in enumerate(rows):
                read = sorted(entry[member] for entry in held if entry[member] >= 0)
                own = range(starts[row], starts[row + 1])
                assert read == [span for span in own if table[span, 2] > 0]


def test_a_cascade_takes_the_contents_of_another():
    one = ak.cascade(*tables([[A], [B], [A]]), page_size=4, fixed=True)
    other = ak.cascade(*tables([[A], [A], [B]]), page_size=4, fixed=True)
    one.copy_(other)
    assert groups(one) == groups(other) == groups(other.to("cpu"))


@pytest.mark.parametrize(("change", "message"), [
    ({"rows": torch.zeros(1, 3).int()}, "cascade.rows must have a power of 2 of columns, got 3"),
    ({"held": torch.zeros(2, 4).int()}, "cascade.held must have 2 columns, got 4"),
    ({"starts": torch.zeros(5).int()}, "cascade.starts must have 2 entries, got 5"),
    ({"starts": torch.zeros(2)}, "cascade.starts must be int32"),
])  # fmt: skip
def test_tables_that_do_not_fit_are_refused(change, message):
    parts = {"rows": torch.zeros(1, 2), "starts": torch.zeros(2), "held": torch.zeros(3, 2)}
    found = ak.Cascade(**{name: value.int() for name, value in parts.items()} | change)
    page_table, spans, starts = tables([[A]])
    cache = torch.zeros(10, 1, 4, 8)
    with pytest.raises(ValueError, match=f"^{message}"):
        ak.attend(
            torch.zeros(1, 1, 1, 8), cache, cache, page_table, spans, torch.zeros(1, 2, 4), starts,
            torch.zeros(1, 1).int(), scale=1.0, cascade=found,
        )  # fmt: skip
