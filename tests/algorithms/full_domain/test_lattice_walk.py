import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from by_definition import lattice_walk
from kohort.algorithms.full_domain.kernels.lattice_walk import highest_open_above

few = st.sampled_from([0.0, 1.0, 2.0, np.inf])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_it_climbs_to_the_dearest_open_nodes(shape, data):
    nodes = list(np.ndindex(*shape))
    bound = data.draw(st.lists(few, min_size=len(nodes), max_size=len(nodes)))
    least = data.draw(st.lists(few, min_size=len(nodes), max_size=len(nodes)))
    place, target = data.draw(st.integers(0, len(nodes) - 1)), data.draw(few)
    found = highest_open_above(np.array(bound), np.array(least), np.array(shape), place, target)
    expected = lattice_walk.highest_open_above(
        dict(zip(nodes, bound)), dict(zip(nodes, least)), nodes[place], target
    )
    assert nodes[found] == expected
