"""Networks and posteriors for other programs.

``bnlearn``, ``models`` and ``pgmpy_models`` have models of other programs, ``graph_files`` drawn
graphs, and ``texts`` graphs as texts. JSON, which networks write themselves, is in
``_networks.json_format``.
"""
