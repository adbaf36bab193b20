"""Random small graphs: differences are symmetric and none with itself, impact is upstream turned around."""

from hypothesis import given, settings
from hypothesis import strategies as st

from awt.lineage.graph import Graph, Node, difference

NAMES = "abcdefg"


@st.composite
def graphs(draw):
    """Parents come earlier in the alphabet, so that two graphs have no cycle together."""
    names = sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1)))
    nodes = {name: Node("x", draw(st.sampled_from([0, 1, None, "1"]))) for name in names}
    parents = {}
    for number, name in enumerate(names):
        before = st.sets(st.sampled_from(names[:number])) if number else st.just(set())
        parents[name] = tuple(sorted(draw(before)))
    return Graph(nodes, parents)


@settings(max_examples=40)
@given(graphs(), graphs())
def test_differences_are_the_same_from_both_sides(one, other):
    def turned(changes):
        return tuple((change.name, change.other, change.one) for change in changes)

    there, back = difference(one, other), difference(other, one)
    for kind in ("first", "also", "follows"):
        assert tuple(map(tuple, getattr(there, kind))) == turned(getattr(back, kind))


@settings(max_examples=40)
@given(graphs())
def test_nothing_differs_from_itself(graph):
    assert difference(graph, graph) == ((), (), ())


@settings(max_examples=40)
@given(graphs(), graphs())
def test_every_difference_is_told_once_and_causes_have_none_behind_them(one, other):
    found = difference(one, other)
    names = [change.name for kind in found for change in kind]
    differing = {n for n in NAMES if (n in one.nodes) != (n in other.nodes) or one.nodes.get(n) != other.nodes.get(n)}
    assert sorted(names) == sorted(differing)
    assert bool(found.first) == bool(differing)
    for change in (*found.first, *found.also):
        assert not (one.upstream(change.name) | other.upstream(change.name)) & differing
    for change in found.follows:
        assert (one.upstream(change.name) | other.upstream(change.name)) & differing


@settings(max_examples=40)
@given(graphs())
def test_impact_is_upstream_turned_around(graph):
    for one in graph.nodes:
        for other in graph.nodes:
            assert (other in graph.impact(one)) == (one in graph.upstream(other))


@settings(max_examples=40)
@given(graphs())
def test_parents_are_nearer_to_the_raw_data(graph):
    heights = graph.heights()
    assert all(heights[parent] > heights[name] for name, parents in graph.parents.items() for parent in parents)


def test_the_cause_nearest_to_the_raw_data_comes_first():
    parents = {"data": (), "seed": (), "mask": ("data", "seed"), "epochs": (), "model": ("mask", "epochs")}
    one = Graph({name: Node("x", 0) for name in parents}, parents)
    other = Graph({name: Node("x", 0 if name == "data" else 1) for name in parents}, parents)
    found = difference(one, other)
    assert [[change.name for change in kind] for kind in found] == [["seed"], ["epochs"], ["mask", "model"]]
