"""Labelling in a browser: a local page on which each answer teaches the model.

`session` holds the loop: a journal of answers, the order of questions, a model that learns in the
background, and estimates of how good it is. `server` serves the page, `notebook` shows it in a
cell. Must not know how a model is fitted, nor how the page draws.
"""
