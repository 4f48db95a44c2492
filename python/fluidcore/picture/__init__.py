"""Pictures of programs: as text for Graphviz, as SVG, as an HTML page; and tables of their sizes.

Reads descriptions, not Programs, so that a Program can have `to_svg` without a circle of imports.
"""
