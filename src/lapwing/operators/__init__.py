"""Linear maps: dense, tiles, sparse, low rank, powers, inverses, rows. No statistics."""
