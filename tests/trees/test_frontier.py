import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trees.frontier import DepthWise, Frontier, LeafWise, Symmetric

every_policy = pytest.mark.parametrize("policy", [LeafWise, DepthWise])


def grow(frontier, gains):
    """Split the leaves that the frontier chooses; `gains` are those of all nodes. Returns the chosen batches."""
    frontier.add(0, gains[:1])
    n_nodes, batches = 1, []
    while chosen := frontier.choose():
        batches.append(chosen)
        n_new = 2 * len(chosen)
        new = (gains[n_nodes : n_nodes + n_new] + [0.0] * n_new)[:n_new]
        frontier.add(n_nodes, new)
        n_nodes += n_new
    return batches


class TestEveryPolicy:
    @every_policy
    @given(
        gains=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=60), max_leaves=st.none() | st.integers(2, 20)
    )
    def test_limits_hold(self, policy, gains, max_leaves):
        batches = grow(policy(max_leaves), gains)
        chosen = [node for batch in batches for node in batch]
        assert len(set(chosen)) == len(chosen)
        assert all(gains[node] > 0 for node in chosen)
        if max_leaves is not None:
            assert len(chosen) + 1 <= max_leaves
        # All leaves with a gain are split, unless the limit is reached.
        able = [node for node in range(min(2 * len(chosen) + 1, len(gains))) if gains[node] > 0]
        assert sorted(chosen) == able or len(chosen) + 1 == max_leaves

    @every_policy
    def test_a_root_without_gain_stays_a_leaf(self, policy):
        assert grow(policy(None), [0.0]) == []
        assert grow(policy(5), [-1.0]) == []

    @every_policy
    def test_full_when_the_last_split_is_chosen(self, policy):
        frontier = policy(2)
        frontier.add(0, [1.0])
        assert not frontier.full
        assert frontier.choose() == [0]
        assert frontier.full
        frontier.add(1, [1.0, 1.0])
        assert frontier.choose() == []

    @every_policy
    def test_without_a_limit_never_full(self, policy):
        frontier = policy(None)
        grow(frontier, [1.0] * 99)
        assert not frontier.full


class TestLeafWise:
    def test_the_best_leaf_first(self):
        assert grow(LeafWise(None), [1.0, 2.0, 3.0, 0.0, 4.0, 2.5, 0.0]) == [[0], [2], [4], [5], [1]]

    def test_a_tie_goes_to_the_older(self):
        assert grow(LeafWise(4), [1.0] * 9) == [[0], [1], [2]]


class TestDepthWise:
    def test_a_level_at_a_time(self):
        assert grow(DepthWise(None), [1.0, 2.0, 3.0, 0.0, 4.0, 2.5, 0.0]) == [[0], [1, 2], [4, 5]]

    def test_the_best_leaves_of_a_level_up_to_the_limit(self):
        assert grow(DepthWise(5), [1.0, 2.0, 2.0, 1.0, 4.0, 3.0, 5.0]) == [[0], [1, 2], [6]]
        assert grow(DepthWise(6), [1.0, 2.0, 2.0, 1.0, 4.0, 3.0, 5.0]) == [[0], [1, 2], [4, 6]]

    def test_a_tie_goes_to_the_older(self):
        assert grow(DepthWise(5), [1.0] * 9) == [[0], [1, 2], [3]]


def test_abstract_methods_raise():
    with pytest.raises(TypeError, match="Frontier"):
        Frontier(3).add(0, [1.0])
    with pytest.raises(TypeError, match="Frontier"):
        Frontier(3).choose()


class TestSymmetric:
    def test_splits_whole_levels(self):
        assert grow(Symmetric(None), [1.0] * 7) == [[0], [1, 2], [3, 4, 5, 6]]

    @pytest.mark.parametrize("max_leaves, n_levels", [(2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (31, 4)])
    def test_keeps_to_the_limit(self, max_leaves, n_levels):
        assert len(grow(Symmetric(max_leaves), [1.0] * 99)) == n_levels

    def test_full_when_the_next_level_has_no_room(self):
        frontier = Symmetric(4)
        frontier.add(0, [1.0])
        assert not frontier.full
        frontier.choose()
        assert not frontier.full
        frontier.add(1, [1.0, 1.0])
        frontier.choose()
        assert frontier.full

    def test_stops_without_gain(self):
        assert grow(Symmetric(None), [1.0, -1.0, -1.0]) == [[0]]


class TestTake:
    """Leaves that are split without being chosen."""

    @every_policy
    def test_a_removed_leaf_counts_as_split(self, policy):
        frontier = policy(3)
        frontier.add(0, [5.0])
        frontier.remove(0)
        frontier.add(1, [1.0, 2.0])
        frontier.remove(2)
        assert frontier.full
        assert frontier.choose() == []


@given(
    gains=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=60),
    max_leaves=st.none() | st.integers(2, 20),
    leaf_batch=st.integers(1, 9),
)
def test_a_batch_has_the_leaves_with_the_highest_gains(gains, max_leaves, leaf_batch):
    batches = grow(LeafWise(max_leaves, leaf_batch), gains)
    chosen = [node for batch in batches for node in batch]
    assert all(len(batch) <= leaf_batch for batch in batches)
    assert max_leaves is None or len(chosen) + 1 <= max_leaves
    for batch in batches:
        assert [gains[node] for node in batch] == sorted((gains[node] for node in batch), reverse=True)
    if leaf_batch == 1:
        assert batches == grow(LeafWise(max_leaves), gains)
