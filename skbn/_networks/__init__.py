"""Networks: what there is to do with one, however it was found.

Dependencies point one way: ``_equivalence`` (which edges could as well be reversed),
``_network`` (its parameters and the Gaussian that it describes), ``_layout`` (where to
draw it), ``_display`` (its picture).
"""
