import numpy as np
import pytest

from sapwood.data.queries import Queries


def test_group_and_qid_give_the_same_queries():
    by_group = Queries.of([2, 1, 3], None, 6)
    by_qid = Queries.of(None, [7, 7, 3, 9, 9, 9], 6)
    np.testing.assert_array_equal(by_group.begin, by_qid.begin)
    np.testing.assert_array_equal(by_group.of_row, [0, 0, 1, 2, 2, 2])
    assert by_group.n_queries == 3


def test_ids_may_be_strings_in_any_order():
    np.testing.assert_array_equal(Queries.from_qid(["b", "b", "a", "c"], 4).sizes, [2, 1, 1])


def test_rows_of_some_queries():
    queries = Queries.from_group([2, 1, 3], 6)
    np.testing.assert_array_equal(queries.rows(np.array([0, 2])), [0, 1, 3, 4, 5])
    assert len(queries.rows(np.array([], dtype=int))) == 0


def test_take_drops_queries_without_rows():
    np.testing.assert_array_equal(Queries.from_group([2, 1, 3], 6).take(np.array([0, 4, 5])).begin, [0, 1, 3])


def test_mean_by_the_weights_of_the_rows():
    queries = Queries.from_group([2, 1], 3)
    assert queries.mean(np.array([1.0, 4.0]), None) == 2.5
    assert queries.mean(np.array([1.0, 4.0]), np.array([1.0, 5.0, 1.0])) == (3 * 1 + 1 * 4) / 4


def test_without_queries_all_rows_are_one():
    with pytest.warns(UserWarning, match=r"all 4 rows are ranked as one query: give group .* or qid"):
        queries = Queries.of(None, None, 4)
    np.testing.assert_array_equal(queries.begin, [0, 4])
    with pytest.raises(ValueError, match=r"a ranker needs group_val \(.*\) or qid_val \(.*\); got neither"):
        Queries.of(None, None, 4, "_val")


@pytest.mark.parametrize(
    ("group", "qid", "message"),
    [
        ([4], [0, 0, 0, 0], "or qid (the query of each row), not both"),
        ([2, 1], None, "group has 3 rows in 2 queries, but X has 4 rows"),
        ([2, 0, 2], None, "group must have at least 1 row in each query; got 0 for query 1"),
        ([1.5, 2.5], None, "group must be a list of integers"),
        ([[2, 2]], None, "group must be a list of integers"),
        (None, [0, 0, 1], "qid must have one entry for each of the 4 rows; got the shape (3,)"),
        (None, [0, 1, 1, 0], "qid is not sorted: row 3 belongs to query 0, whose rows ended before row 1"),
        (None, [0, 1, 0, 1], "qid is not sorted: row 2 belongs to query 0, whose rows ended before row 1"),
        (None, [0, 0, np.nan, 1], "qid contains NaN: the first in row 2"),
    ],
)
def test_invalid_queries_raise(group, qid, message):
    with pytest.raises(ValueError) as error:
        Queries.of(group, qid, 4)
    assert message in str(error.value)
