"""Neighbour graphs: nearest neighbours, edge weights, Laplacians. No kernels, no labels."""

from .knn_graph import KNNGraph
from .neighbors import nearest_neighbors

__all__ = ["KNNGraph", "nearest_neighbors"]
