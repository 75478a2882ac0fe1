"""Solvers: generators of steps that know neither kernels nor graphs, and their one driver."""
