"""The parts of the benchmark: what is measured, how, and what is made of the numbers.

``shapes`` and ``targets`` are data; ``timing`` is method; ``cpu_run`` and ``cuda_run`` measure;
``results`` is the JSON; ``report`` is the text. The command is ``tools/bench/topk.py``.
"""
