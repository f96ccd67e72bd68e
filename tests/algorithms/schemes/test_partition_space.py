import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.schemes import listed, valid_partitions
from kohort.algorithms.schemes.partition_space import PartitionSpace, blocks_of, numbered
from kohort.algorithms.schemes.scheme_spaces import SCHEMES, SchemeSpace
from small_problems import problem_of
from strategies import PLAIN_TEXTS, hierarchies

WORK_CLASS = [
    ("State-gov", "Government"),
    ("Local-gov", "Government"),
    ("Federal-gov", "Government"),
    ("Private", "Private sector"),
    ("Inc", "Self-employed"),
    ("Not-inc", "Self-employed"),
    ("Without-pay", "Unemployed"),
    ("Never-worked", "Unemployed"),
]
BELL = [1, 1, 2, 5, 15, 52, 203, 877, 4140]


def attribute_of(values, hierarchy):
    return problem_of({"x": values}, {"x": hierarchy}, 1).attributes[0]


def work_class(scheme):
    hierarchy = ko.Hierarchy.from_paths([(*path, "*") for path in WORK_CLASS])
    return SchemeSpace.of(attribute_of([leaf for leaf, _ in WORK_CLASS], hierarchy), scheme).space


def from_the_coarsest(space):
    waiting = [space.levels[-1] if space.levels else space.coarsest]
    while waiting:
        partition = waiting.pop()
        yield partition
        waiting += space.finer(partition)


def as_sets(partitions):
    return sorted(sorted(map(sorted, blocks)) for blocks in partitions)


@pytest.mark.parametrize(
    "scheme, count", [("bhs", 3), ("ghs", 9), ("gops", 40), ("gsps", 67), ("ops", 128), ("sps", 4140)]
)
def test_the_spaces_of_work_class_have_the_sizes_of_figure_1(scheme, count):
    space = work_class(scheme)
    assert len(list(listed(space))) == len(set(listed(space))) == count


@pytest.mark.parametrize("n", range(1, 9))
def test_sets_are_counted_by_bell_numbers_and_runs_by_powers_of_two(n):
    for merging, count in (("sets", BELL[n]), ("runs", 2 ** (n - 1))):
        space = flat(n, merging)
        assert len(list(listed(space))) == len(set(listed(space))) == count


def flat(n, merging):
    """The space of a tree whose root is right above the values."""
    return PartitionSpace(n, (tuple(range(n)),) if n > 1 else (), (merging,) if n > 1 else ())


def children(scheme_space, *blocks):
    block_of = {value: number for number, block in enumerate(blocks) for value in block}
    partition = numbered([block_of[value] for value in sorted(block_of)])
    return as_sets(
        [[v + 1 for v in block] for block in blocks_of(p)] for p in scheme_space.coarser(partition)
    )


def test_examples_1_and_2_children_of_a_set_partition():
    assert children(flat(5, "sets"), {1}, {2, 3}, {4}, {5}) == [
        [[1], [2, 3], [4, 5]],
        [[1], [2, 3, 4], [5]],
        [[1], [2, 3, 5], [4]],
    ]
    assert children(flat(5, "sets"), {1, 4}, {2}, {3}, {5}) == [
        [[1, 4], [2], [3, 5]],
        [[1, 4], [2, 3], [5]],
        [[1, 4], [2, 5], [3]],
        [[1, 4, 5], [2], [3]],
    ]


def test_example_3_children_of_a_recoding_come_from_each_attribute():
    first, second = flat(4, "sets"), flat(2, "sets")
    assert len(first.coarser((0, 0, 1, 2))) == 3
    assert len(second.coarser((0, 1))) == 1


def test_examples_4_and_5_guided_children_of_work_class():
    """As printed, Fig. 6 gives four children of the set partition; three are right (reading notes)."""
    blocks = {1}, {2, 3}, {4}, {5, 6}, {7}, {8}
    sets = children(flat(8, "sets"), *blocks)
    allowed = as_sets([[v + 1 for v in block] for block in blocks_of(p)] for p in listed(work_class("gsps")))
    merged = [[1], [2, 3], [4], [5, 6], [7, 8]]
    assert len(sets) == 3 and [child for child in sets if child in allowed] == [merged]
    runs = children(flat(8, "runs"), *blocks)
    allowed = as_sets([[v + 1 for v in block] for block in blocks_of(p)] for p in listed(work_class("gops")))
    assert len(runs) == 2 and [child for child in runs if child in allowed] == [merged]
    assert merged in children(work_class("gsps"), *blocks)
    assert merged in children(work_class("gops"), *blocks)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_a_space_lists_what_the_definition_allows_once_in_either_direction(scheme, data):
    leaves = PLAIN_TEXTS[: data.draw(st.integers(1, 6))]
    values = [*leaves, *data.draw(st.sampled_from([[], [None]]))]
    known = data.draw(st.sampled_from([leaves, values]))  # a hierarchy may have a missing value anywhere
    space = SchemeSpace.of(attribute_of(values, data.draw(hierarchies(known))), scheme)
    wanted = as_sets(valid_partitions(scheme, space.attribute.domain))
    wanted = [p for number, p in enumerate(wanted) if p not in wanted[:number]]
    for found in (listed(space.space), from_the_coarsest(space.space)):
        blocks = [[space.leaves(block, p).tolist() for block in blocks_of(p)] for p in found]
        assert as_sets(blocks) == wanted


@given(data=st.data())
def test_every_scheme_contains_those_that_the_paper_puts_below_it(data):
    leaves = PLAIN_TEXTS[: data.draw(st.integers(1, 6))]
    attribute = attribute_of(list(leaves), data.draw(hierarchies(leaves)))
    spaces = {scheme: set(listed(SchemeSpace.of(attribute, scheme).space)) for scheme in SCHEMES}
    for below, above in [
        ("bhs", "ghs"),
        ("ghs", "gops"),
        ("gops", "ops"),
        ("gops", "gsps"),
        ("ops", "sps"),
        ("gsps", "sps"),
    ]:
        assert spaces[below] <= spaces[above]
