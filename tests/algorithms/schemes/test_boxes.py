"""Boxes around records: largest ones below k, what blocks inside them cost, steps of their prices."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.boxes import inside_cost, is_largest, records_in
from by_definition.boxes import stepped as by_definition
from kohort.algorithms.schemes.box_bound import fitted, stepped
from kohort.algorithms.schemes.kernels.boxes import grow_boxes, inside_costs, number_pairs, part_bits

pytestmark = pytest.mark.usefixtures("interpreted")

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, k=st.integers(2, 9), n_attributes=st.integers(1, 3))
def test_a_box_holds_the_class_and_fewer_than_k_and_nothing_more_fits(seed, k, n_attributes):
    rng = np.random.default_rng(seed)
    n_parts = rng.integers(1, 5, n_attributes)
    start = np.append(0, np.cumsum(n_parts))
    n_cells = int(rng.integers(1, 90))  # more than a word of bits
    parts = rng.integers(0, n_parts, (n_cells, n_attributes)) + start[:-1]
    sizes = rng.integers(1, 4, n_cells)
    block_of = np.concatenate([rng.integers(0, n, n) for n in n_parts])
    distance = np.full((start[-1], start[-1]), np.inf)
    for a, b in pairwise(start):
        near = rng.random((b - a, b - a))
        distance[a:b, a:b] = np.where(near < 0.8, near, np.inf)
    bits = part_bits(parts, start[-1])
    owners = np.arange(n_cells)
    boxes, found = grow_boxes(owners, parts, sizes, bits, start, block_of, distance, k)
    for cell in owners:
        own = parts[cell].tolist()
        shared = {
            part
            for j, one in enumerate(own)
            for part in range(start[j], start[j + 1])
            if block_of[part] == block_of[one]
        }
        assert found[cell] == (records_in(shared, parts.tolist(), sizes) < k)
        if found[cell]:
            box = set(np.flatnonzero(boxes[cell]).tolist())
            assert shared <= box and records_in(box, parts.tolist(), sizes) < k
            assert is_largest(box, own, parts.tolist(), sizes, distance.tolist(), k)


def bits_of(chosen):
    return {value for value in range(62) if (int(chosen) >> value) & 1}


@given(seed=SEEDS, n=st.integers(0, 30))
def test_blocks_pay_for_the_boxes_they_stay_inside_of(seed, n):
    rng = np.random.default_rng(seed)
    own = 1 << rng.integers(0, 5, n)
    boxes = rng.integers(0, 32, n) | own | (1 << rng.integers(40, 62, n))
    prices = rng.random(n) * (rng.random(n) < 0.7)
    blocks = rng.integers(1, 32, 12)
    found = inside_costs(blocks, own, boxes, prices)
    wanted = [
        inside_cost(bits_of(block), [bits_of(o) for o in own], [bits_of(b) for b in boxes], prices)
        for block in blocks
    ]
    assert found == pytest.approx(wanted)


@given(seed=SEEDS, n=st.integers(0, 60))
def test_pairs_of_parts_and_boxes_are_numbered(seed, n):
    rng = np.random.default_rng(seed)
    parts, boxes = rng.integers(0, 4, n), rng.integers(0, 5, n) << 50
    pair_of, part, box = number_pairs(parts, boxes)
    assert (part[pair_of] == parts).all() and (box[pair_of] == boxes).all()
    assert len(part) == len(set(zip(parts.tolist(), boxes.tolist())))


@given(seed=SEEDS, n=st.integers(0, 20))
def test_a_step_is_the_one_by_definition_and_stays_in_the_room(seed, n):
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, 4, n)
    room = np.where(rng.random(4) < 0.2, np.inf, rng.random(4))
    prices = fitted(rng.random(n) * (rng.random(n) < 0.6), owner, room)
    assert (np.bincount(owner, prices, minlength=4) <= room + 1e-12).all()
    sticks = rng.integers(0, 4, n).astype(float)
    changed, _ = stepped(prices, sticks, owner, room, 0.8)
    assert changed == pytest.approx(
        by_definition(prices.tolist(), sticks.tolist(), owner.tolist(), room, 0.8)
    )
    assert (changed >= 0).all() and (np.bincount(owner, changed, minlength=4) <= room + 1e-12).all()
