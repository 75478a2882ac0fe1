"""Neighbour graphs: neighbours, edge weights, Laplacians, eigenvectors. No kernels, no labels."""

from .anchors import AnchorGraph
from .knn_graph import KNNGraph
from .neighbors import nearest_neighbors
from .spectrum import smallest_eigenpairs
