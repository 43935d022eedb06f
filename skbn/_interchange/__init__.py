"""Networks and posteriors for other programs.

They ask a network only what any user may ask it. ``models`` has models of other programs,
``graph_files`` drawn graphs. The formats that networks read as well are in
``_networks.interchange``.
"""
