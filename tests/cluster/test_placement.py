from sapwood.cluster.placement import order_workers, ranges


def test_ranges_are_contiguous_and_cover_all_pieces():
    for n_pieces in range(12):
        for n_workers in range(1, 6):
            parts = ranges(n_pieces, n_workers)
            assert [i for part in parts for i in range(n_pieces)[part]] == list(range(n_pieces))
            lengths = [part.stop - part.start for part in parts]
            assert max(lengths) - min(lengths) <= 1


def test_workers_get_the_pieces_they_hold():
    holders = [{"b"}, {"b"}, {"c"}, {"a", "c"}, {"a"}, {"a"}]
    assert order_workers(["a", "b", "c"], holders) == ["b", "c", "a"]
