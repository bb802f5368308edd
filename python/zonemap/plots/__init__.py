# SPDX-License-Identifier: Apache-2.0
"""Plots of layout, queries and index: the extra ``plots``.

Each function takes a result of this package and returns a ``Plot``, which notebooks show, and which is saved as HTML,
SVG or PNG. Nothing is loaded from the network, neither to draw a plot nor to look at one.
"""

from zonemap.plots.index import levels, tiers
from zonemap.plots.layout import clustering_depth
from zonemap.plots.plot import Plot
from zonemap.plots.queries import files_kept

__all__ = ["Plot", "clustering_depth", "files_kept", "levels", "tiers"]
