"""Decisions on how a model is fitted, made in this package only.

A plan is made before anything large is allocated, from the sizes of the problem, the user's choices
and the memory budget, never from a clock: the same call always gets the same plan. Problems that do
not fit into memory are refused here. Builds nothing and computes nothing.
"""
