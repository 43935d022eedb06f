"""Networks and posteriors for other programs: a file for each format.

They ask a network only what any user may ask it. ``exported`` says which networks can be written.
The formats that networks read as well are in ``_networks.interchange``.
"""
