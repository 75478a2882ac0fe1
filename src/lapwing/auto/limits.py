"""Sizes up to which the default does everything it can; above them it samples or leaves out."""

#: The most rows that candidates see; the others are predicted.
MOST_ROWS = 100_000
#: The most rows beside those that candidates see by which the edges of the graph are weighed; as
#: many as these take twice as long as the graph itself.
EDGE_ROWS = 100_000
#: The most labels that are used for the selection, and rows on which fold models are compared.
SELECTION_LABELS, SAMPLE_ROWS = 400, 500
#: Labels above which only supervised models are fitted, as explicit functions of few features.
MOST_LABELS = 3_000
#: Labels times rows above which the graph family would take minutes.
GRAPH_WORK = 2e7
#: Rows up to which kernel models are functions of all rows; above, of this many landmarks.
EXACT_ROWS, LANDMARKS = 2_500, 1_000
#: The most rows of the margin family, and classes: with more of them it takes longer than all other
#: families together, and hardly changes the accuracy of the blend.
MARGIN_ROWS, MARGIN_CLASSES = 3_000, 3
#: The most rows and classes of the self-training family, and coordinates of its rows.
SELF_TRAINING_ROWS, SELF_TRAINING_CLASSES, SELF_TRAINING_COLUMNS = 3_000, 50, 200
