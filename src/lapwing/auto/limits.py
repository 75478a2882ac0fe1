"""Sizes up to which the default does all it can, and what it tries: its only constants."""

#: Rows that candidates see at most; others are predicted.
MOST_ROWS = 100_000
#: Labels that are used for the selection, and rows on which fold models are compared, at most.
SELECTION_LABELS, SAMPLE_ROWS = 400, 500
#: Labels above which only supervised models are fitted, as explicit functions of few features.
MOST_LABELS = 3_000
#: Labels times rows above which the graph family would take minutes.
GRAPH_WORK = 2e7
#: Rows up to which kernel models use functions of all rows; above, of this many landmarks.
EXACT_ROWS, LANDMARKS = 2_500, 1_000
#: Rows of the margin family at most, and classes: each is fitted against the rest, fold by fold.
MARGIN_ROWS, MARGIN_CLASSES = 3_000, 3

#: Widths of the Gaussian kernel in units of the median one, 1/(2·median²).
WIDTHS = (1.0, 4.0)
#: Weights of the norm, for supervised models and for those with a manifold term.
REGS, MANIFOLD_REGS = (0.01, 0.1, 1.0), (0.01, 0.1)
#: Ratios γ_I/γ_A, and the width of the kernel they go with.
RATIOS, MANIFOLD_WIDTH = (0.1, 1.0, 10.0, 100.0), 4.0
#: Powers p and floors ε of the graph kernels (Lᵖ + εᵖ)⁻¹ over all neighbours, and over half of
#: them, which follow thin shapes better.
GRAPH_KERNELS = {"all": ((2, 0.01), (3, 0.1)), "half": ((1, 0.01), (2, 0.01))}
GRAPH_REG = 0.1
#: Kernels of the margin family: width (None: linear) and weight λ.
MARGIN_KERNELS = ((None, 1e-2), (2.0, 1e-3))
